"""The published baselines: their searches, what the reader sees, and how they refuse."""

from dataclasses import replace
from typing import Any

import pytest

from bench.node import Script, says
from chassis.errors import DeadlineExceeded, DependencyUnavailable, Internal, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, Reason, Route
from gateway.pipelines.baselines import pipeline as baselines
from gateway.pipelines.baselines.retrieval import Findings
from gateway.planning.plan import FULL
from gateway.planning.run import Run
from gateway.state import Entity, Query, Reply, Turn
from tests.unit.gateway.asking import asking
from tests.unit.gateway.baselines import CLOSED, SEARCHING, ScriptedReader, baseline, put_baseline
from tests.unit.gateway.fakes import (
    AUTHOR,
    BOOK,
    PAGES,
    FakeServices,
    image_hit,
    images,
    pages,
    text_hit,
)
from tests.unit.gateway.model_replies import SURE, UNKNOWN, replies
from tests.unit.gateway.pipelines import PHOTO, WHO_WROTE, clients_of
from tests.unit.gateway.platform import PHOTO as JPEG

pytestmark = pytest.mark.anyio

EVERY = (*CLOSED, *SEARCHING)
REWRITING = ("crag-mm-task-2", "crag-mm-task-3")
HISTORY = (Turn("What is this?", BOOK, False, Entity(BOOK, 0.9)),)


def find_things(*scores: float, **attributes: str) -> FakeServices:
    """Services that find a thing for each score."""
    services = FakeServices()
    hits = [image_hit(f"Thing {place}", score, **attributes) for place, score in enumerate(scores)]
    services.image_search.reply = images(*hits)
    return services


def find_pages(count: int, text: str = PAGES) -> FakeServices:
    """Services that find so many pages."""
    services = FakeServices()
    hits = [text_hit(f"{place}. {text}") for place in range(count)]
    services.text_search.reply = pages(*hits)
    return services


STAGES = {
    "llm-only": ["answer"],
    "cot": ["draft"],
    "direct-rag": ["answer", "image_search", "text_search"],
    "crag-mm-task-1": ["answer", "image_search"],
    **{name: ["answer", "image_search", "query_rewrite", "text_search"] for name in REWRITING},
}


@pytest.mark.parametrize("name", EVERY)
async def test_each_baseline_runs_its_own_stages_only(name: str) -> None:
    result = await put_baseline(name)
    assert sorted(result.stages) == STAGES[name]
    assert (result.outcome.reason, result.run.degraded) == (Reason.ANSWERED, [])
    assert result.outcome.route is (Route.DIRECT if name in CLOSED else Route.RAG)
    for unused in ("cropper", "reranker", "domain_router", "verifier", "ocr"):
        assert result.services[unused].calls == []


MODEL_CALLS = {
    "llm-only": ["answer_alone"],
    "cot": ["answer_in_steps"],
    "direct-rag": ["answer_from_search"],
    "crag-mm-task-1": ["answer_from_search"],
    **{name: ["rewrite_query", "answer_from_search"] for name in REWRITING},
}


async def test_gateway_offers_each_baseline_with_its_calls_of_the_model() -> None:
    script: Script = replies(UNKNOWN) | {
        "answer_alone": says({"answer": AUTHOR}, **SURE),
        "answer_in_steps": says({"reasoning": [f"The cover says {BOOK}."], "answer": AUTHOR}, **SURE),
        "rewrite_query": says({"query": f"Who wrote {BOOK}?"}, **SURE),
        "answer_from_search": says({"answer": AUTHOR}, **SURE),
    }
    async with asking(script) as (client, server, _):
        for name, calls in MODEL_CALLS.items():
            before = len(server.questions)
            form = {"question": WHO_WROTE, "pipeline": name, "deadline_ms": "60000"}
            reply = await client.post("/answer", files={"image": JPEG}, data=form)
            answer = Answer.model_validate_json(reply.content)
            assert (answer.answer, answer.reason, answer.degraded) == (AUTHOR, Reason.ANSWERED, [])
            assert [request.name for request in server.questions[before:]] == calls
            assert [each.snippet for each in answer.citations] == ([] if name in CLOSED else [AUTHOR])
    first, *others = server.questions
    assert first.images
    for request in others:  # so that a server with prefix caching reads the photo once
        assert (request.system, request.parts[0]) == (first.system, first.parts[0])


# Searches


@pytest.mark.parametrize(
    ("name", "image_hits", "text_searches"),
    [
        ("direct-rag", 5, [([WHO_WROTE], 10)]),
        ("crag-mm-task-1", 30, []),
        *((name, 30, [(["who wrote The Salt Road"], 50)]) for name in REWRITING),
    ],
)
async def test_sizes_and_queries_of_the_searches(
    name: str, image_hits: int, text_searches: list[tuple[list[str], int]]
) -> None:
    services = (await put_baseline(name)).services
    assert services.image_search.calls == [([PHOTO.jpeg], image_hits)]
    assert [(request.queries, request.k) for request in services.text_search.calls] == text_searches


async def results_of(name: str, services: FakeServices, **more: Any) -> Findings:
    """Return the search results that the reader answers from."""
    return (await put_baseline(name, services=services, **more)).reasoner.results("answer_from")


@pytest.mark.parametrize("name", REWRITING)
async def test_query_is_rewritten_with_the_results_of_image_search(name: str) -> None:
    result = await put_baseline(name)
    results = result.reasoner.results("rewrite_query")
    assert [thing.name for thing in results.things] == [BOOK]
    assert [record.text for record in results.records] == [AUTHOR]
    assert results.pages == ()
    notes = [(note.stage, note.text) for note in result.explanation.notes]
    assert notes == [("image_search", f"{BOOK} 0.970"), ("query_rewrite", "who wrote The Salt Road")]
    assert [piece.text for piece in result.explanation.evidence] == [AUTHOR, PAGES]


@pytest.mark.parametrize("task", baselines.TASKS)
async def test_crag_mm_keeps_things_from_three_quarters_on_by_cosine_if_there_is_one(task: int) -> None:
    name = f"crag-mm-task-{task}"
    results = await results_of(name, find_things(0.9, 0.75, 0.749, 0.1))
    assert [thing.probability for thing in results.things] == [0.9, 0.75]
    services = FakeServices()
    near, far = image_hit("Near", 0.6), image_hit("Far", 0.9)
    services.image_search.reply = images(
        near.model_copy(update={"cosine": 0.76}), far.model_copy(update={"cosine": 0.74})
    )
    assert [thing.name for thing in (await results_of(name, services)).things] == ["Near"]


async def test_a_thing_of_several_images_is_named_once_and_explained_each_time() -> None:
    services = FakeServices()
    services.image_search.reply = images(
        image_hit("Near", 0.9), image_hit("Far", 0.8), image_hit("Near", 0.7)
    )
    result = await put_baseline("crag-mm-task-1", services=services)
    named = result.reasoner.results("answer_from").things
    assert [(thing.name, thing.probability) for thing in named] == [("Near", 0.9), ("Far", 0.8)]
    assert [found.title for found in result.explanation.found] == ["Near", "Far", "Near"]


async def test_direct_rag_keeps_every_thing() -> None:
    result = await put_baseline("direct-rag", services=find_things(0.9, 0.1))
    assert [thing.name for thing in result.reasoner.results("answer_from").things] == ["Thing 0", "Thing 1"]
    assert result.explanation.signals == {"image_top": 0.9, "answer_confidence": 0.9}


@pytest.mark.parametrize("name", ["direct-rag", *REWRITING])
async def test_pages_keep_the_order_of_the_search(name: str) -> None:
    results = await results_of(name, find_pages(3))
    assert [page.text[0] for page in results.pages] == ["0", "1", "2"]
    assert [page.score for page in results.pages] == [1 / 2, 1 / 3, 1 / 4]


@pytest.mark.parametrize("name", SEARCHING)
async def test_without_a_photo_there_is_no_image_search(name: str) -> None:
    result = await put_baseline(name, photo=None)
    assert result.services.image_search.calls == []
    assert result.reasoner.results("answer_from").things == ()


@pytest.mark.parametrize("name", EVERY)
async def test_only_the_single_turn_tasks_leave_the_conversation_out(name: str) -> None:
    result = await put_baseline(name, history=HISTORY, photo_is_new=False)
    single = name in ("crag-mm-task-1", "crag-mm-task-2")
    assert result.reasoner.calls
    for _, query, _ in result.reasoner.calls:
        assert (query.history, query.photo_is_new) == (((), True) if single else (HISTORY, False))
        assert query.question == WHO_WROTE


async def test_things_take_at_most_two_thousand_tokens() -> None:
    services = find_things(*[0.9] * 30, about="a very long story about it. " * 40)
    results = await results_of("crag-mm-task-1", services)
    assert len(results.things) == 30
    assert 6_000 < results.image_chars <= 2_000 * 4


async def test_pages_take_at_most_eight_thousand_tokens_or_the_share_of_a_smaller_plan() -> None:
    services = find_pages(50, f"{BOOK} is long. " * 100)
    results = await results_of("crag-mm-task-2", services)
    assert 30_000 < results.page_chars <= 8_000 * 4
    assert len(results.pages) > 12  # passages stay whole
    smaller = replace(FULL, evidence_chars=1_200, text_hits=5)
    results = await results_of("crag-mm-task-2", services, plan=smaller)
    assert services.text_search.calls[1].k == 25
    assert 18_000 < results.page_chars <= 8_000 * 4 * 3 // 5


async def test_direct_rag_keeps_within_the_evidence_of_the_plan() -> None:
    results = await results_of("direct-rag", find_pages(10, f"{BOOK} is long. " * 100))
    assert FULL.evidence_chars / 2 < results.image_chars + results.page_chars <= FULL.evidence_chars


@pytest.mark.parametrize("name", EVERY)
async def test_unsure_answer_is_given_as_it_is(name: str) -> None:
    unsure = Reply("Mira Holm, perhaps.", 0.05)
    outcome = (await put_baseline(name, ScriptedReader(alone=unsure, say=lambda _: unsure))).outcome
    assert (outcome.answer, outcome.confidence, outcome.citations) == ("Mira Holm, perhaps.", 0.05, ())
    assert outcome.reason is Reason.ANSWERED


@pytest.mark.parametrize("name", REWRITING)
async def test_question_is_searched_as_it_is_if_it_cannot_be_rewritten(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> str:
        raise DependencyUnavailable

    monkeypatch.setattr(ScriptedReader, "rewrite_query", fail)
    result = await put_baseline(name)
    assert result.services.text_search.calls[0].queries == [WHO_WROTE]
    assert result.run.degraded == ["query_rewrite"]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("error", [DependencyUnavailable(), Overloaded(), DeadlineExceeded(), Internal()])
async def test_failed_model_is_degraded_and_raised(name: str, error: LoreglassError) -> None:
    run = Run("trace", Deadline.after_ms(30_000))
    async with clients_of(FakeServices()) as clients:
        with pytest.raises(type(error)):
            await baseline(name, clients, ScriptedReader(error=error)).answer(Query(WHO_WROTE, PHOTO), run)
    if not isinstance(error, Internal):
        assert run.degraded[-1] == ("draft" if name == "cot" else "answer")
