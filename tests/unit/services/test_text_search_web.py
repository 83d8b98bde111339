"""The web engine of text_search, before a search API and sites on this machine."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.http.fetching import FetchLimits, PublicFetcher
from chassis.models.cancellation import CURRENT_CALL, Call
from chassis.resilience.deadlines import Deadline
from chassis.startup import CannotStart
from services.text_search.app import create_app
from services.text_search.engine import FusedHit, Provider
from services.text_search.engines.web import WebLimits, WebTextSearch
from services.text_search.engines.web_providers import WebProvider
from services.text_search.settings import Engine, TextSearchSettings
from tests.live import live
from tests.unit.services.web_sites import Web, web
from tests.virtual_time import ManualClock

QUERY = "How high is the Lindvik dam?"


@pytest.fixture
def internet() -> Iterator[Web]:
    with web() as served:
        yield served


def engine(
    served: Web, provider: Provider = Provider.SEARXNG, clock: ManualClock | None = None, **limits: float
) -> WebTextSearch:
    """An engine for which this machine is public."""
    fetcher = PublicFetcher(FetchLimits(2**20, 10.0), is_allowed=lambda _: True)
    bounds = WebLimits(**limits)  # type: ignore[arg-type]
    return WebTextSearch(
        WebProvider(provider, served.url, "secret"), fetcher, bounds, clock or ManualClock(0.0)
    )


def hits(served: Web, seconds: float = 20.0, provider: Provider = Provider.SEARXNG) -> list[FusedHit]:
    """What a call finds that waits so long."""
    with closing(engine(served, provider)) as opened:
        return search(opened, seconds=seconds)


def search(opened: WebTextSearch, queries: Sequence[str] = (QUERY,), seconds: float = 20.0) -> list[FusedHit]:
    token = CURRENT_CALL.set(Call(Deadline.after_ms(seconds * 1000)))
    try:
        return opened.search(queries, 5, "pages")
    finally:
        CURRENT_CALL.reset(token)


def test_answering_passage_ranks_first_with_its_section(internet: Web) -> None:
    filler = " ".join(f"Sentence {number} is about the weather in the valley." for number in range(120))
    internet.page("/dam", f"<h1>Lindvik</h1><p>{filler}</p><h2>Figures</h2><p>The dam is 112 m high.</p>")
    internet.page("/town", "<h1>Lindvik town</h1><p>The town has a market and a church by the river.</p>")
    internet.results("/town", "/dam", publishedDate="2026-03-01T00:00:00")
    first = hits(internet)[0].passage
    assert first.url == f"{internet.url}/dam"
    assert "112 m high" in first.text
    assert "Lindvik › Figures" in first.sections or "Figures" in first.sections
    assert first.last_modified is not None


def test_slow_or_missing_page_is_replaced_by_its_excerpt(internet: Web) -> None:
    internet.page("/dam", "<h1>Dam</h1><p>The Lindvik dam is 112 m high and was built in 1961.</p>")
    internet.slow.add("/slow")
    internet.results("/slow", "/gone", "/dam", content="An excerpt about the dam.")
    texts = {hit.passage.url.rpartition("/")[2]: hit.passage.text for hit in hits(internet, seconds=6.0)}
    assert texts.keys() == {"slow", "gone", "dam"}
    assert texts["gone"] == texts["slow"] == "An excerpt about the dam."
    assert "112 m high" in texts["dam"]


@pytest.mark.parametrize(
    ("robots", "fetched"),
    [
        (b"User-agent: *\nDisallow: /private/", 0),
        (b"User-agent: Loreglass\nDisallow: /", 0),
        (b"User-agent: Other\nDisallow: /", 1),
        (404, 1),
        (500, 0),
    ],
)
def test_robots_txt_decides_whether_a_page_is_fetched(
    internet: Web, robots: bytes | int, fetched: int
) -> None:
    internet.pages["/robots.txt"] = robots
    internet.page("/private/dam", "<h1>Dam</h1><p>The Lindvik dam is 112 m high.</p>")
    internet.results("/private/dam", content="An excerpt about the dam.")
    assert len(hits(internet)) == 1
    assert internet.requests["/private/dam"] == fetched


def test_private_addresses_are_not_fetched(internet: Web) -> None:
    internet.page("/dam", "<h1>Dam</h1><p>The Lindvik dam is 112 m high.</p>")
    internet.results("/dam", content="")
    limits = WebLimits(robots=False)
    provider = WebProvider(Provider.SEARXNG, internet.url)
    with closing(WebTextSearch(provider, PublicFetcher(), limits, ManualClock(0.0))) as opened:
        assert search(opened) == []
    assert internet.requests["/dam"] == 0


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "ftp://a.example/", ""])
def test_results_without_a_web_address_are_left_out(internet: Web, address: str) -> None:
    result = {"url": address, "title": "Dam", "content": "The Lindvik dam is 112 m high."}
    internet.pages["/search"] = json.dumps({"results": [result]}).encode()
    assert hits(internet) == []


def test_results_and_pages_are_cached_for_a_time(internet: Web) -> None:
    clock = ManualClock(0.0)
    internet.page("/dam", "<h1>Dam</h1><p>The Lindvik dam is 112 m high.</p>")
    internet.results("/dam", content="")
    with closing(engine(internet, clock=clock, keep_s=60.0)) as opened:
        search(opened)
        search(opened)
        assert (internet.requests["/search"], internet.requests["/dam"]) == (1, 1)
        clock.now = 61.0
        search(opened)
    assert (internet.requests["/search"], internet.requests["/dam"]) == (2, 2)


def test_too_many_searches_a_minute_are_refused_with_the_time_to_wait(internet: Web) -> None:
    clock = ManualClock(0.0)
    internet.results(content="")
    with closing(engine(internet, clock=clock, per_minute=2)) as opened:
        search(opened, ["one", "two", "three"])  # the third query exceeds `per_minute` and is not sent
        clock.now = 20.0
        with pytest.raises(Overloaded) as refusal:
            search(opened, ["four"])
        assert refusal.value.retry_after_s == 40.0
        clock.now = 61.0
        assert search(opened, ["four"]) == []
    assert [query.split("&")[0] for query in internet.queries] == ["q=one", "q=two", "q=four"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (429, Overloaded),
        (500, DependencyUnavailable),
        (302, DependencyUnavailable),
        (b"<html>blocked</html>", DependencyUnavailable),
        (b'{"results": 7}', DependencyUnavailable),
        (b"[" * 100_000, DependencyUnavailable),
        (b" " * (5 * 2**20), DependencyUnavailable),
    ],
)
def test_failing_search_api_is_reported(internet: Web, body: bytes | int, error: type[Exception]) -> None:
    internet.pages["/search"] = body
    with pytest.raises(error, match="searxng"):
        hits(internet)


def test_a_search_api_that_hangs_ends_with_the_deadline(internet: Web) -> None:
    internet.slow.add("/search")
    with pytest.raises(DeadlineExceeded):
        hits(internet, seconds=0.3)


def test_brave_and_tavily_get_the_key_and_their_own_request(internet: Web) -> None:
    text = "The Lindvik dam is 112 m high."
    internet.results("/a", api="/res/v1/web/search", description=text)
    assert [hit.passage.text for hit in hits(internet, provider=Provider.BRAVE)] == [text]
    assert internet.headers[0]["X-Subscription-Token"] == "secret"
    internet.results("/a", content=text)
    assert [hit.passage.text for hit in hits(internet, provider=Provider.TAVILY)] == [text]
    assert internet.bodies[0]["query"] == QUERY
    assert "Bearer secret" in {each.get("Authorization") for each in internet.headers}


async def test_web_service_answers_like_text_search_without_an_index(internet: Web) -> None:
    internet.results("/a", content="The Lindvik dam is 112 m high.")
    settings = TextSearchSettings(engine=Engine.WEB, web_url=internet.url, web_robots=False)
    async with live(create_app(settings)) as http:
        reply = await http.post("/v1/text-search", json={"queries": [QUERY], "k": 3})
        assert reply.json()["hits"][0]["snippet"] == "The Lindvik dam is 112 m high."
        assert (await http.get("/v1/collections")).status_code == 404


@pytest.mark.parametrize(
    ("chosen", "setting"),
    [({}, "LOREGLASS_TEXT_SEARCH_WEB_URL"), ({"web_provider": "brave"}, "LOREGLASS_TEXT_SEARCH_WEB_KEY")],
)
async def test_a_missing_address_or_key_stops_the_start(chosen: dict[str, str], setting: str) -> None:
    settings = TextSearchSettings.model_validate({"engine": "web", **chosen})
    with pytest.raises(CannotStart, match=setting):
        async with live(create_app(settings)):
            pass
