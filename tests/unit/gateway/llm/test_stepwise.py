"""QA-Dragon's own calls against a scripted server: one call each, and clean results."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bench.node import says
from contracts.domain_router import Domain
from gateway.pipelines.qa_dragon.model import MOST_OBJECTS, StepwiseVlmReasoner
from gateway.state import Entity, Query, Tool
from tests.unit.gateway.llm.stage import (
    ASK,
    FOLLOW_UP,
    bench,
    deadline,
    draft,
    nothing_printed,
    printed,
)

pytestmark = pytest.mark.anyio

FIAT = Entity("Fiat 500", 0.8, (("maker", "Fiat"),))
MINI = Entity("Mini Cooper", 0.7)


async def one_call(name: str, reply: Any, work: Callable[[StepwiseVlmReasoner], Awaitable[Any]]) -> Any:
    """What `work` makes of the one reply that it asks for."""
    async with bench({name: says(reply)}) as it:
        result = await work(it.stepwise)
        assert [request.name for request in it.server.requests] == [name]
        return result, it.server.requests[0]


async def test_a_chain_of_thought_has_its_domain_s_advice() -> None:
    thought = {
        "reasoning": ["The car is a Fiat 500."],
        "object_label": "car",
        "entity": "Fiat 500",
        "answer": "Turin.",
        "answerability": "check",
    }
    made, request = await one_call(
        "chain_of_thought",
        thought,
        lambda it: it.chain_of_thought(ASK, Domain.VEHICLE, nothing_printed, deadline()),
    )
    assert (made.entity, made.answer, made.self_contained) == ("Fiat 500", "Turin.", False)
    assert (made.tools, made.sub_queries) == (frozenset(), ())
    assert "grille" in request.text


@pytest.mark.parametrize(
    ("ask", "tools", "chosen"),
    [
        (ASK, [], set()),
        (ASK, ["image_search", "text_search"], set(Tool)),
        (Query("Who?", None), ["image_search", "text_search"], {Tool.TEXT_SEARCH}),
    ],
    ids=["none", "both", "no photo to search by"],
)
async def test_the_model_chooses_the_tools(ask: Query, tools: list[str], chosen: set[Tool]) -> None:
    tool_set, _ = await one_call(
        "choose_tools", {"reason": "", "tools": tools}, lambda it: it.choose_tools(ask, draft(), deadline())
    )
    assert tool_set == chosen


async def test_listed_objects_are_short_few_and_different() -> None:
    objects = ["Car", "car", "an extremely long name of a thing", "<b>", "dog", "cat", "cow", "hen"]
    listed, _ = await one_call(
        "list_objects", {"objects": objects}, lambda it: it.list_objects(ASK, deadline())
    )
    assert listed == ("car", "an extremely long", "b", "dog", "cat", "cow")
    assert len(listed) <= MOST_OBJECTS


@pytest.mark.parametrize(("named", "chosen"), [("white dog", "white dog"), ("cat", None)])
async def test_the_chosen_object_is_one_of_the_list(named: str | None, chosen: str | None) -> None:
    result, request = await one_call(
        "select_object",
        {"reason": "", "object_label": named},
        lambda it: it.select_object(ASK, ["bench", "dog"], deadline()),
    )
    assert result == chosen
    assert "bench, dog" in request.text


@pytest.mark.parametrize(("number", "chosen"), [(2, MINI), (None, None), (3, None), (0, None)])
async def test_the_matched_entity_is_a_candidate_or_none(number: int | None, chosen: Entity | None) -> None:
    result, request = await one_call(
        "match_entity",
        {"reason": "", "candidate": number},
        lambda it: it.match_entity(ASK, draft(), [FIAT, MINI], printed("500"), deadline()),
    )
    assert result == chosen
    assert "1. Fiat 500; maker: Fiat\n2. Mini Cooper" in request.text


async def test_split_queries_keep_the_entity_slot() -> None:
    queries, _ = await one_call(
        "split_query",
        {"reason": "", "queries": ["How long is the {entity}?", "How long is a {garage}?"]},
        lambda it: it.split_query(FOLLOW_UP, draft(), deadline()),
    )
    assert queries == ("How long is the {entity}?", "How long is a garage ?")


@pytest.mark.parametrize(
    ("parts", "written", "entity", "searched"),
    [
        (["price"], ["How long is the 2010 Fiat 500?", "price of {entity}"], FIAT, None),
        (["length of {entity}"], ["", "{}"], FIAT, ("length of Fiat 500",)),
        (
            ["length of {entity}", "garages"],
            ["length of {entity}", "garages in Turin"],
            None,
            ("garages in Turin",),
        ),
    ],
    ids=["named", "lost by the model", "about an unknown entity"],
)
async def test_enhanced_queries_name_the_entity(
    parts: list[str], written: list[str], entity: Entity | None, searched: tuple[str, ...] | None
) -> None:
    queries, request = await one_call(
        "enhance_queries", {"queries": written}, lambda it: it.enhance_queries(ASK, parts, entity, deadline())
    )
    assert queries == (searched or ("How long is the 2010 Fiat 500?", "price of Fiat 500"))
    assert f"1. {parts[0]}\n" in request.text


async def test_empty_steps_send_no_request() -> None:
    async with bench({}) as it:
        step = it.stepwise
        assert await step.list_objects(Query("Who?", None), deadline()) == ()
        assert await step.select_object(ASK, [], deadline()) is None
        assert await step.match_entity(ASK, draft(), [], printed(), deadline()) is None
        assert await step.enhance_queries(ASK, [], FIAT, deadline()) == ()
        assert it.server.requests == []
