"""What the default pipeline does with what its services and its reasoner say, and with pages of the web."""

from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from contracts.answer import Answer, CitationKind, Reason, Route
from contracts.domain_router import Domain
from contracts.text_search import TextHit
from gateway.planning.stages import Stage
from gateway.state import Context, Evidence, Quote, Reply
from gateway.steps.conclusion import checked_citations, conclude
from gateway.thresholds import load_thresholds
from tests.live import closed_port, served
from tests.unit.gateway.fakes import (
    AUTHOR,
    BOOK,
    PAGES,
    FakeServices,
    Mood,
    image_hit,
    images,
    pages,
    regions,
    text_hit,
)
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, after_reading, direct_draft, lookup_draft, unsure


async def test_searched_answer_has_its_sources(world: World) -> None:
    answer = await world.ask()
    assert answer.answer == PAGES  # what the fake reranker prefers
    assert (answer.reason, answer.abstained, answer.route) == (Reason.ANSWERED, False, Route.RAG)
    assert (answer.entity, answer.domain, answer.degraded) == (BOOK, Domain.BOOK, [])
    (citation,) = answer.citations
    assert (citation.snippet, citation.kind, citation.title) == (PAGES, CitationKind.PAGE, BOOK)
    assert citation.url == "https://pages.example/salt-road"
    assert answer.confidence == pytest.approx(0.9 * 0.95)


async def test_each_stage_gets_the_earlier_results(world: World) -> None:
    answer = await world.ask()
    assert world.services.domain_router.calls == [(QUESTION, "THE SALT ROAD")]
    assert world.services.cropper.calls == []  # the whole photo decided
    (search,) = world.services.text_search.calls
    assert search.queries == [f"{BOOK} {QUESTION}", f"{BOOK} author"]
    (rerank,) = world.services.reranker.calls
    attributes, page = rerank.documents
    assert attributes.endswith(AUTHOR)
    assert page.endswith(PAGES)
    assert (rerank.query, rerank.entity) == (QUESTION, BOOK)
    ran = {Stage.OCR, Stage.DOMAIN_ROUTER, Stage.IMAGE_SEARCH, Stage.DRAFT, Stage.SELECT_ENTITY}
    ran |= {Stage.TEXT_SEARCH, Stage.RERANKER, Stage.ANSWER, Stage.VERIFIER, Stage.SESSION}
    assert set(answer.timings_ms) == {*(stage.value for stage in ran), "first_word", "total"}
    assert all(0 <= milliseconds <= answer.timings_ms["total"] for milliseconds in answer.timings_ms.values())


async def test_the_direct_route_quotes_the_photo_and_stops_the_image_search(services: FakeServices) -> None:
    services.image_search.mood = Mood.HANGS
    reasoner = ScriptedReasoner(direct_draft(), before_draft=after_reading)
    async with gateway_before(services, reasoner) as world:
        answer = await world.ask("What does it say?")
        with anyio.fail_after(20):
            await services.image_search.left.wait()
    assert (answer.answer, answer.route) == ("THE SALT ROAD", Route.DIRECT)
    assert [citation.kind for citation in answer.citations] == [CitationKind.PHOTO]
    assert answer.degraded == []
    assert services.text_search.calls == services.reranker.calls == services.verifier.calls == []


@pytest.mark.parametrize(
    ("whole", "crops", "best"), [(0.6, [b"crop"], [0.8]), (0.6, [], [0.6]), (0.3, [], [])]
)
async def test_uncertain_photo_is_searched_by_its_crops(
    services: FakeServices, world: World, whole: float, crops: list[bytes], best: list[float]
) -> None:
    services.image_search.reply = lambda call: images(image_hit(score=0.8 if call[0] == [b"crop"] else whole))
    services.cropper.reply = regions(*crops)
    answer = await world.ask()
    assert [labels for _, labels, _ in services.cropper.calls] == [["book"]]
    assert len(services.image_search.calls) == 1 + len(crops)
    assert [entity.probability for entity in world.reasoner.candidates[0]] == best  # the best of each name
    assert (answer.entity, answer.degraded) == (BOOK if best else None, [])


async def test_without_a_reranker_the_search_order_is_kept(services: FakeServices, world: World) -> None:
    services.reranker.mood = Mood.CRASHES
    hits = [text_hit(f"{BOOK} number {place} {'x' * place}", 1 / place) for place in (1, 2, 3)]
    services.text_search.reply = pages(*hits)
    services.image_search.reply = images()
    answer = await world.ask()
    texts = [item.text for item in world.reasoner.contexts[0].evidence if item.kind is CitationKind.PAGE]
    assert texts == [hit.snippet for hit in hits]
    assert answer.degraded == ["reranker"]


@pytest.mark.parametrize(
    ("quotes", "citations"),
    [
        ((), []),
        ((Quote(0, "Invented."),), []),
        ((Quote(99, PAGES),), []),
        ((Quote(-1, PAGES),), []),
        ((Quote(0, ""),), []),
        ((Quote(0, "Invented."), Quote(0, PAGES[:10])), [PAGES[:10]]),
    ],
    ids=["none", "invented", "no such evidence", "counted from the end", "empty", "a true one beside it"],
)
def test_verbatim_quotes_alone_are_citations(quotes: tuple[Quote, ...], citations: list[str]) -> None:
    evidence = [Evidence(PAGES, BOOK, "", CitationKind.PAGE)]
    cited = checked_citations(Reply("Mira Holm", 0.9, quotes), evidence)
    assert [citation.snippet for citation in cited] == citations


@pytest.mark.parametrize(("quoted", "reason"), [(True, Reason.LOW_CONFIDENCE), (False, Reason.MODEL_UNSURE)])
def test_refusal_of_an_unlikely_answer_says_whether_a_model_gave_it(quoted: bool, reason: Reason) -> None:
    context = Context(Route.RAG, evidence=(Evidence(PAGES, BOOK, "", CitationKind.PAGE),))
    reply = Reply("Lund", 0.0, (Quote(0, PAGES),), quoted=quoted)
    assert conclude("Where?", reply, None, context, None, {}, load_thresholds()).reason is reason


async def test_many_sub_queries_are_not_more_than_the_search_takes(services: FakeServices) -> None:
    draft = lookup_draft(sub_queries=tuple(f"query {number}" for number in range(40)))
    async with gateway_before(services, ScriptedReasoner(draft)) as world:
        answer = await world.ask()
    assert answer.degraded == []
    assert 1 <= len(services.text_search.calls[0].queries) <= 16


async def test_long_page_is_split_at_sentence_ends(services: FakeServices, world: World) -> None:
    page = " ".join(
        f"Sentence number {number} tells of the salt road and its people." for number in range(60)
    )
    services.text_search.reply = pages(text_hit(page))
    await world.ask()
    (request,) = services.reranker.calls
    chunks = [text.removeprefix(f"{BOOK}\n") for text in request.documents if "Sentence" in text]
    assert len(chunks) > 3
    assert all(chunk.endswith(".") and chunk in page for chunk in chunks)
    assert all(len(chunk.split()) <= 130 for chunk in chunks)


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
def web(services: FakeServices) -> FakeServices:
    """Services whose text search finds on the web what the index does not have."""
    services.text_search.reply = pages(text_hit(ELSEWHERE))
    return FakeServices(text_search=pages(ON_THE_WEB))


async def ask_web(services: FakeServices, web: FakeServices, fields: Any = None, **settings: Any) -> Answer:
    """Ask a gateway, lite if no reasoner is given, whose web search is the text search of `web`."""
    async with served(web.app()) as url:
        chosen: dict[str, Any] = {"web_search_url": url, "experiments": True}
        chosen |= {"pocket": "reasoner" not in settings, **settings}
        async with gateway_before(services, **chosen) as world:
            return await world.ask(PAGES_QUESTION, photo=None, **(fields or {}))


@pytest.mark.parametrize(
    "settings", [{}, {"reasoner": unsure(), "fallback": True}], ids=["lite", "a model that does not know"]
)
async def test_web_search_answers_if_the_index_does_not(
    services: FakeServices, web: FakeServices, settings: dict[str, Any]
) -> None:
    answer = await ask_web(services, web, **settings)
    assert (answer.answer, answer.reason) == ("312 pages.", Reason.ANSWERED)
    citation = answer.citations[0]
    assert (citation.kind, citation.url, citation.last_modified) == (CitationKind.WEB, ON_THE_WEB.url, DATE)
    assert "web_search" in answer.timings_ms
    assert answer.degraded == []


async def test_web_search_is_skipped_if_the_index_answers(services: FakeServices, web: FakeServices) -> None:
    services.text_search.reply = pages(text_hit())
    answer = await ask_web(services, web)
    assert answer.citations[0].kind is CitationKind.PAGE
    assert web.text_search.calls == []


async def test_a_refusal_shows_the_index_and_not_the_web(services: FakeServices, web: FakeServices) -> None:
    web.text_search.reply = pages(ON_THE_WEB.model_copy(update={"snippet": "A shop sells books."}))
    answer = await ask_web(services, web)
    assert answer.reason is Reason.LOW_CONFIDENCE
    assert answer.closest is not None
    assert answer.closest.kind is CitationKind.PAGE


@pytest.mark.parametrize("mood", [Mood.BUSY, Mood.CRASHES, Mood.TALKS_NONSENSE, Mood.HANGS, None])
async def test_failed_web_search_is_degraded_and_keeps_the_refusal(
    services: FakeServices, web: FakeServices, mood: Mood | None
) -> None:
    settings = {} if mood else {"web_search_url": closed_port()}
    web.text_search.mood = mood or Mood.WORKS
    fields = {"deadline_ms": "5000"} if mood is Mood.HANGS else None
    answer = await ask_web(services, web, fields, **settings)
    assert answer.reason is Reason.LOW_CONFIDENCE
    assert answer.degraded == ["web_search"]
    assert answer.closest is not None


async def test_experiment_can_turn_web_search_off(services: FakeServices, web: FakeServices) -> None:
    answer = await ask_web(services, web, {"experiment": '{"without": ["web-search"]}'})
    assert answer.reason is Reason.LOW_CONFIDENCE
    assert web.text_search.calls == []
