"""QA-Dragon's own order: each branch of Table 1, and what may fail. Its ablations: `test_ablations.py`."""

from dataclasses import replace
from typing import Any

import pytest

from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from gateway.pipelines.qa_dragon.model import MOST_OBJECTS
from gateway.planning.run import Run
from gateway.state import Entity, PhotoText, Query, Turn
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
from tests.unit.gateway.papers import BOTH_TOOLS, PHOTO, dragon
from tests.unit.gateway.pipelines import WHO_WROTE, clients_of

VISUAL = ["list_objects", "select_object", "match_entity"]
TEXTUAL = ["split_query", "enhance_queries"]
POST_ANSWER = ["answer_with_reasons", "judge"]
GOLF = "Volkswagen Golf"


def thought(**fields: Any) -> dict[str, Any]:
    """The reply to the chain of thought."""
    return {"chain_of_thought": {"reasoning": ["It is so."], **fields}}


def tools(*chosen: str) -> dict[str, Any]:
    """The model's choice of tools."""
    return {"choose_tools": {"reason": "", "tools": chosen}}


READ = thought(answer="THE SALT ROAD", answerability="in_photo")
FROM_MEMORY = thought(
    object_label="car", entity=GOLF, answer="Production began in 1974.", answerability="check"
)


# Table 1


async def test_direct_answer_takes_one_model_call() -> None:
    result = await dragon(READ, question="What does it say?")
    assert result.reasoner.names() == ["chain_of_thought"]
    assert (result.outcome.route, result.outcome.answer) == (Route.DIRECT, "THE SALT ROAD")
    assert set(result.stages) == {"ocr", "domain_router", "draft"}


async def test_draft_from_memory_is_verified_by_text_search_only() -> None:
    result = await dragon(FROM_MEMORY, question="In which year did the car begin production?")
    assert result.reasoner.names() == ["chain_of_thought", *TEXTUAL, "judge"]
    assert result.outcome.answer == "Production began in 1974."
    assert result.outcome.route is Route.VERIFY
    assert result.services.image_search.calls == result.services.cropper.calls == []
    assert f"<<<identity>>>\n{GOLF}\n" in result.reasoner.text("enhance_queries")


async def test_failed_draft_is_augmented_by_image_then_text_search() -> None:
    services = FakeServices(image_search=images(image_hit(author="Mira Holm", publisher="Harrow & Lane")))
    result = await dragon(services=services)
    assert result.reasoner.names() == ["chain_of_thought", "choose_tools", *VISUAL, *TEXTUAL, *POST_ANSWER]
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


async def test_chain_of_thought_has_the_domains_advice_and_examples() -> None:
    result = await dragon(READ, question="What does it say?")
    generic = await dragon(READ, question="What does it say?", missing=["domain-router"])
    assert result.reasoner.text("chain_of_thought") != generic.reasoner.text("chain_of_thought")


# The toolchains


@pytest.mark.parametrize(
    ("chosen", "steps"),
    [
        (BOTH_TOOLS, [*VISUAL, *TEXTUAL]),
        (("image_search",), VISUAL),
        (("text_search",), TEXTUAL),
        ((), []),
    ],
    ids=["both", "image", "text", "neither"],
)
async def test_the_tool_router_chooses_the_toolchains(chosen: tuple[str, ...], steps: list[str]) -> None:
    result = await dragon(tools(*chosen))
    assert result.reasoner.names() == ["chain_of_thought", "choose_tools", *steps, *POST_ANSWER]


@pytest.mark.parametrize(
    ("replies", "labels"),
    [
        ({}, [["red lamp"]]),
        ({"list_objects": {"objects": []}}, []),
        ({"select_object": {"reason": "", "object_label": None}}, [["lamp", "table"]]),
        ({"select_object": {"reason": "", "object_label": "cat"}}, [["lamp", "table"]]),
    ],
    ids=["one selected", "no object: nothing is cropped", "none selected: all are cropped", "not listed"],
)
async def test_regions_of_the_objects_are_searched_with_the_full_photo(
    replies: dict[str, Any], labels: list[list[str]]
) -> None:
    services = FakeServices(cropper=regions(b"one", b"two"))
    result = await dragon(replies, services)
    assert [call[1] for call in services.cropper.calls] == labels
    ((pictures, _),) = services.image_search.calls
    assert pictures == [b"one", b"two", PHOTO.jpeg] if labels else [PHOTO.jpeg]
    assert result.outcome.reason is Reason.ANSWERED


async def test_listed_objects_are_short_few_and_distinct() -> None:
    objects = ["Car", "car", "an extremely long name of a thing", "<b>", "dog", "cat", "cow", "hen"]
    choice = {"reason": "", "object_label": None}
    result = await dragon({"list_objects": {"objects": objects}, "select_object": choice})
    ((_, labels, _),) = result.services.cropper.calls
    assert labels == ["car", "an extremely long", "b", "dog", "cat", "cow"]
    assert len(labels) <= MOST_OBJECTS


@pytest.mark.parametrize("number", [None, 3, 0])
async def test_unmatched_entity_is_dropped(number: int | None) -> None:
    services = FakeServices(image_search=images(image_hit(), image_hit("Other", 0.9)))
    history = (Turn("What is this?", BOOK, False, Entity(BOOK, 0.9)),)
    result = await dragon({"match_entity": {"reason": "", "candidate": number}}, services, history=history)
    assert f"1. {BOOK}; author: Mira Holm\n2. Other" in result.reasoner.text("match_entity")
    assert result.outcome.entity is None  # not the conversation's either: the photo is new
    (request,) = services.text_search.calls
    assert request.queries == [WHO_WROTE]  # no query without the thing could be searched alone


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        (["How old is {entity}?", "price of a {garage}"], [f"How old is {BOOK}?", "price of a garage"]),
        (["", "{}"], [f"who wrote {BOOK}", f"where was the author of {BOOK} born"]),
    ],
    ids=["named", "lost by the model"],
)
async def test_enhanced_queries_name_the_thing(written: list[str], searched: list[str]) -> None:
    result = await dragon({"enhance_queries": {"queries": written}})
    (request,) = result.services.text_search.calls
    assert request.queries[1:] == searched
    assert "1. who wrote {entity}\n2. where was" in result.reasoner.text("enhance_queries")


async def test_the_context_holds_the_best_chunks_first_and_nothing_below_the_cut() -> None:
    hits = [text_hit(f"{BOOK} fact {number}.") for number in range(30)]
    result = await dragon(services=FakeServices(text_search=pages(text_hit(), *hits)))
    chunks = [item for item in result.explanation.evidence if item.kind is not CitationKind.PHOTO]
    assert len(chunks) == 12
    assert chunks[0].text == PAGES  # what the fake reranker prefers
    assert all(item.score >= 0.05 for item in chunks)


@pytest.mark.parametrize(
    ("question", "history", "steps"),
    [(WHO_WROTE, (), []), ("And how long?", (Turn(WHO_WROTE, "Mira Holm.", False),), ["rewrite"])],
    ids=["first question", "follow-up"],
)
async def test_no_visual_step_runs_without_a_photo(
    question: str, history: tuple[Turn, ...], steps: list[str]
) -> None:
    result = await dragon(question=question, history=history, photo=None)
    assert result.reasoner.names() == [*steps, "split_query", *POST_ANSWER]
    assert not {"draft", "tool_router", "query_enhancement"} & set(result.stages)
    assert result.run.degraded == []


async def test_without_a_photo_the_remembered_entity_is_searched_by_text() -> None:
    entity = Entity(BOOK, 0.9, (("author", "Mira Holm"),))
    result = await dragon(history=(Turn("What is this?", BOOK, False, entity),), photo=None)
    assert result.services.image_search.calls == []
    assert result.outcome.entity == entity  # with the attributes that the conversation knows
    (request,) = result.services.text_search.calls
    assert request.queries[0] == f"{BOOK} {WHO_WROTE}"


async def test_follow_up_keeps_the_previous_questions_domain() -> None:
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

OPTIONAL = ("choose_tools", "list_objects", "match_entity", *TEXTUAL, "judge")


async def test_failed_optional_steps_are_degraded() -> None:
    result = await dragon(dict.fromkeys(OPTIONAL, ZeroDivisionError()))
    assert result.outcome.reason is Reason.ANSWERED
    assert result.run.degraded == [
        *("tool_router", "object_list", "select_entity", "query_split", "query_enhancement", "judge")
    ]


async def test_verified_answer_needs_no_citation() -> None:
    replies = {**tools(), "answer_with_reasons": "It is a lamp."}
    accepted = await dragon(replies)
    assert (accepted.outcome.reason, accepted.outcome.citations) == (Reason.ANSWERED, ())
    services = FakeServices()
    services.verifier.mood = Mood.CRASHES
    unverified = await dragon({**replies, "judge": ZeroDivisionError()}, services)
    assert (unverified.outcome.reason, unverified.outcome.refused_by) == (Reason.UNSUPPORTED, "citation")
