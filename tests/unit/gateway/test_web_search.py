"""The open web as a second source: asked where the index holds no answer, and cited as what it is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.answer import CitationKind, Reason
from contracts.text_search import TextHit
from tests.live import closed_port, served
from tests.unit.gateway.fakes import BOOK, FakeServices, Mood, pages, text_hit
from tests.unit.gateway.platform import World, gateway_before
from tests.unit.gateway.reasoners import unsure

pytestmark = pytest.mark.anyio

DATE = datetime(2026, 3, 1, tzinfo=UTC)
ELSEWHERE = f"{BOOK} was printed in Lund."
ON_THE_WEB = TextHit(
    id="w",
    url="https://web.example/a",
    title="A shop",
    snippet=f"{BOOK} has 312 pages.",
    last_modified=DATE,
    score=1.0,
    query_indexes=[0],
)
PAGES_QUESTION = f'How many pages has "{BOOK}"?'


@pytest.fixture
def web() -> FakeServices:
    made = FakeServices()
    made.text_search.reply = pages(ON_THE_WEB)
    return made


@asynccontextmanager
async def searching(services: FakeServices, web: FakeServices, **settings: Any) -> AsyncIterator[World]:
    """A gateway, lite if no reasoner is given, whose web search is the text search of `web`."""
    async with served(web.app()) as url:
        chosen = {"web_search_url": url, "experiments": True, **settings}
        chosen.setdefault("pocket", "reasoner" not in settings)
        async with gateway_before(services, **chosen) as made:
            yield made


async def test_the_web_answers_where_the_index_does_not(services: FakeServices, web: FakeServices) -> None:
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    async with searching(services, web) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None)
    assert (answer.answer, answer.reason) == ("312 pages.", Reason.ANSWERED)
    citation = answer.citations[0]
    assert (citation.kind, citation.url, citation.last_modified) == (CitationKind.WEB, ON_THE_WEB.url, DATE)
    assert "web_search" in answer.timings_ms
    assert answer.degraded == []


async def test_the_reader_reads_the_web_where_the_model_does_not_know(
    services: FakeServices, web: FakeServices
) -> None:
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    async with searching(services, web, reasoner=unsure(), fallback=True) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None)
    assert (answer.answer, answer.reason) == ("312 pages.", Reason.ANSWERED)
    assert answer.citations[0].kind is CitationKind.WEB


async def test_the_web_is_not_asked_what_the_index_answers(services: FakeServices, web: FakeServices) -> None:
    async with searching(services, web) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None)
    assert answer.citations[0].kind is CitationKind.PAGE
    assert web.text_search.calls == []


async def test_a_refusal_shows_the_index_even_if_the_web_has_something(
    services: FakeServices, web: FakeServices
) -> None:
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    web.text_search.reply = pages(ON_THE_WEB.model_copy(update={"snippet": "A shop sells books."}))
    async with searching(services, web) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None)
    assert answer.reason is Reason.MODEL_UNSURE
    assert answer.closest is not None
    assert answer.closest.kind is CitationKind.PAGE


@pytest.mark.parametrize("mood", [Mood.BUSY, Mood.CRASHES, Mood.TALKS_NONSENSE, None])
async def test_a_web_search_that_fails_is_named_and_the_refusal_stands(
    services: FakeServices, web: FakeServices, mood: Mood | None
) -> None:
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    settings = {} if mood else {"web_search_url": closed_port()}
    web.text_search.mood = mood or Mood.WORKS
    async with searching(services, web, **settings) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None)
    assert answer.reason is Reason.MODEL_UNSURE
    assert answer.degraded == ["web_search"]
    assert answer.closest is not None


async def test_a_web_search_that_hangs_leaves_time_for_the_refusal(
    services: FakeServices, web: FakeServices
) -> None:
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    web.text_search.mood = Mood.HANGS
    async with searching(services, web) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None, deadline_ms="5000")
    assert answer.reason is Reason.MODEL_UNSURE
    assert answer.degraded == ["web_search"]


async def test_an_experiment_can_do_without_the_web(services: FakeServices, web: FakeServices) -> None:
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    async with searching(services, web) as world:
        answer = await world.ask(PAGES_QUESTION, photo=None, experiment='{"without": ["web-search"]}')
    assert answer.reason is Reason.MODEL_UNSURE
    assert web.text_search.calls == []
