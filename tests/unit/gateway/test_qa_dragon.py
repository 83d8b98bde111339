"""QA-Dragon's own order: each branch of Table 1, and what may fail. Its ablations: `test_ablations.py`."""

from dataclasses import replace

import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from gateway.planning.run import Run
from gateway.state import Entity, PhotoText, Query, Reply, Tool, Turn
from gateway.steps.photo import classify_domain
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
from tests.unit.gateway.pipelines import PHOTO, WHO_WROTE, clients_of
from tests.unit.gateway.reasoners import BOTH_TOOLS, direct_draft, lookup_draft
from tests.unit.gateway.stepwise import ScriptedSteps, dragon

pytestmark = pytest.mark.anyio

VISUAL = ["list_objects", "select_object", "match_entity"]
TEXTUAL = ["split_query", "enhance_queries"]
POST_ANSWER = ["answer", "judge"]


def from_memory(**changes: object) -> ScriptedSteps:
    """Knows the thing and answers from memory: worth checking, not worth replacing."""
    draft = lookup_draft(
        object_label="car",
        entity="Volkswagen Golf",
        reasoning="The car is a Volkswagen Golf. Its first generation was introduced in 1974.",
        answer="Production began in 1974.",
        confidence=0.9,
        tools=frozenset(),
        sub_queries=(),
    )
    return ScriptedSteps(first_look=replace(draft, **changes))  # type: ignore[arg-type]


# Table 1


async def test_direct_answer_takes_one_model_call() -> None:
    result = await dragon(ScriptedSteps(first_look=direct_draft()), question="What does it say?")
    assert result.reasoner.names() == ["chain_of_thought"]
    assert (result.outcome.route, result.outcome.answer) == (Route.DIRECT, "THE SALT ROAD")
    assert set(result.stages) == {"ocr", "domain_router", "draft"}


async def test_a_draft_from_memory_is_verified_by_text_alone_and_not_written_anew() -> None:
    result = await dragon(from_memory(), question="In which year did the car begin production?")
    assert result.reasoner.names() == ["chain_of_thought", *TEXTUAL, "judge"]
    assert result.outcome.answer == "Production began in 1974."
    assert result.outcome.route is Route.VERIFY
    assert result.services.image_search.calls == result.services.cropper.calls == []
    _, _, entity = result.reasoner.arguments("enhance_queries")
    assert entity == Entity("Volkswagen Golf", 0.9)


async def test_a_draft_that_failed_is_augmented_by_sight_then_text() -> None:
    services = FakeServices()
    hit = image_hit(author="Mira Holm", publisher="Harrow & Lane")
    services.image_search.reply = images(hit)
    result = await dragon(services=services)
    steps = ["chain_of_thought", "choose_tools", *VISUAL, *TEXTUAL, *POST_ANSWER]
    assert result.reasoner.names() == steps
    (search,) = services.text_search.calls
    parts = (f"{BOOK} {WHO_WROTE}", f"who wrote {BOOK}", f"where was the author of {BOOK} born")
    assert search.queries == list(parts)
    (rerank,) = services.reranker.calls
    assert rerank.documents[0] == f"{AUTHOR} The publisher of {BOOK} is Harrow & Lane."
    assert (rerank.query, rerank.entity) == (WHO_WROTE, BOOK)
    assert set(result.stages) == {
        *("ocr", "domain_router", "draft", "tool_router", "object_list", "object_selection", "cropper"),
        *("image_search", "select_entity", "query_split", "query_enhancement", "text_search", "reranker"),
        *("answer", "judge", "verifier"),
    }
    assert (result.outcome.route, result.outcome.reason) == (Route.RAG, Reason.ANSWERED)
    assert result.outcome.entity is not None
    assert result.outcome.entity.name == BOOK
    assert result.run.degraded == []


# The toolchains


@pytest.mark.parametrize(
    ("tools", "steps"),
    [
        (BOTH_TOOLS, [*VISUAL, *TEXTUAL]),
        (frozenset({Tool.IMAGE_SEARCH}), VISUAL),
        (frozenset({Tool.TEXT_SEARCH}), TEXTUAL),
        (frozenset[Tool](), []),
    ],
    ids=["both", "image", "text", "neither"],
)
async def test_the_tool_router_chooses_the_toolchains(tools: frozenset[Tool], steps: list[str]) -> None:
    result = await dragon(ScriptedSteps(tools=tools))
    assert result.reasoner.names() == ["chain_of_thought", "choose_tools", *steps, *POST_ANSWER]


@pytest.mark.parametrize(
    ("steps", "labels"),
    [
        (ScriptedSteps(), [["red lamp"]]),
        (ScriptedSteps(labels=()), []),
        (ScriptedSteps(selected=None), [["lamp", "table"]]),
    ],
    ids=["one selected", "no object: nothing is cropped", "none selected: all are cropped"],
)
async def test_regions_of_the_objects_are_searched_with_the_full_photo(
    steps: ScriptedSteps, labels: list[list[str]]
) -> None:
    services = FakeServices()
    services.cropper.reply = regions(b"one", b"two")
    result = await dragon(steps, services)
    assert [call[1] for call in services.cropper.calls] == labels
    ((pictures, _),) = services.image_search.calls
    assert pictures == [b"one", b"two", PHOTO.jpeg] if labels else [PHOTO.jpeg]
    assert result.outcome.reason is Reason.ANSWERED


async def test_unmatched_entity_is_dropped() -> None:
    result = await dragon(ScriptedSteps(matches=False))
    assert result.outcome.entity is None
    (request,) = result.services.text_search.calls
    assert request.queries == [WHO_WROTE]  # no query without the thing could be searched alone


async def test_the_context_holds_the_best_chunks_first_and_nothing_below_the_cut() -> None:
    services = FakeServices()
    hits = [text_hit(f"{BOOK} fact {number}.") for number in range(30)]
    services.text_search.reply = pages(text_hit(), *hits)
    result = await dragon(services=services)
    _, context = result.reasoner.arguments("answer")
    chunks = [item for item in context.evidence if item.kind is not CitationKind.PHOTO]
    assert len(chunks) == 12
    assert chunks[0].text == PAGES  # what the fake reranker prefers
    assert all(item.score >= 0.05 for item in chunks)


@pytest.mark.parametrize("named", [BOOK, None], ids=["named by the draft", "not named"])
async def test_without_a_photo_the_remembered_entity_is_searched_by_text(named: str | None) -> None:
    entity = Entity(BOOK, 0.9, (("author", "Mira Holm"),))
    history = (Turn("What is this?", BOOK, False, entity),)
    steps = ScriptedSteps(first_look=lookup_draft(object_label=None, entity=named, sub_queries=()))
    result = await dragon(steps, history=history, photo=None)
    assert result.services.image_search.calls == []
    assert result.outcome.entity == entity  # with the attributes that the conversation knows
    (request,) = result.services.text_search.calls
    assert request.queries[0] == f"{BOOK} {WHO_WROTE}"


async def test_a_new_photo_is_not_taken_for_the_conversations_thing() -> None:
    history = (Turn("What is this?", BOOK, False, Entity(BOOK, 0.9)),)
    result = await dragon(ScriptedSteps(matches=False), history=history)
    assert result.outcome.entity is None


async def test_a_follow_up_is_in_the_domain_of_the_question_before_it() -> None:
    history = (Turn("What car is this?", "A Golf.", False),)
    services = FakeServices()
    async with clients_of(services) as clients:
        follow_up = Query("And how long is it?", PHOTO, photo_is_new=False, history=history)
        for ask in (follow_up, replace(follow_up, photo_is_new=True)):
            await classify_domain(clients, ask, nothing_printed, Run("trace", Deadline.after_ms(60_000)))
    assert [question for question, _ in services.domain_router.calls] == [
        "What car is this?\nAnd how long is it?",
        "And how long is it?",
    ]


async def nothing_printed() -> PhotoText:
    return PhotoText()


# What may fail, and what is verified


class BreakingSteps(ScriptedSteps):
    """Breaks in every step that the answer can do without."""

    async def _break(self, *_: object) -> None:
        raise ZeroDivisionError

    choose_tools = list_objects = match_entity = split_query = enhance_queries = judge = _break  # type: ignore[assignment]


async def test_failed_optional_steps_are_degraded() -> None:
    result = await dragon(BreakingSteps())
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == [
        *("tool_router", "object_list", "select_entity", "query_split", "query_enhancement", "judge")
    ]


async def test_verified_answer_needs_no_citation() -> None:
    steps = ScriptedSteps(tools=frozenset(), reply=Reply("It is a lamp.", 0.9))
    accepted = await dragon(steps)
    assert (accepted.outcome.reason, accepted.outcome.citations) == (Reason.ANSWERED, ())
    services = FakeServices()
    services.verifier.mood = Mood.CRASHES

    class Unjudged(ScriptedSteps):
        judge = BreakingSteps.judge

    unverified = await dragon(Unjudged(tools=frozenset(), reply=Reply("It is a lamp.", 0.9)), services)
    assert (unverified.outcome.reason, unverified.outcome.refused_by) == (Reason.UNSUPPORTED, "citation")
