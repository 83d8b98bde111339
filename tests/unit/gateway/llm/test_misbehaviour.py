"""Replies that are cut off or no form at all: what is complete is read, and nothing is logged."""

import json
from typing import Any

import pytest
import structlog

from bench.node import says
from chassis.errors import LoreglassError
from gateway.llm.completion import Assembly
from gateway.llm.reading import whole
from gateway.llm.schemas import ChainOfThought, Structured, Understanding
from gateway.llm.wire import ChoiceWire, ChunkWire, MessageWire
from gateway.pipelines.qa_dragon.model import ObjectList, QuerySplit
from tests.unit.gateway.llm.stage import ASK, Bench, bench, deadline, nothing_printed

LOOK = {
    "reasoning": ["It is a Fiat 500."],
    "entity": "Fiat 500",
    "answer": "Fiat is from Turin.",
    "answerability": "check",
}
GOOD: dict[type[Structured], dict[str, Any]] = {
    Understanding: LOOK | {"image_search": "car", "text_search": ["Where was Fiat founded?", "When was it?"]},
    ChainOfThought: LOOK | {"object_label": "car"},
    ObjectList: {"objects": ["car", "dog"]},
    QuerySplit: {"reason": "One fact.", "queries": ["Where was Fiat founded?"]},
}


async def draft_of(it: Bench, name: str) -> Any:
    """The draft of the default pipeline, or of QA-Dragon."""
    if name == "understand":
        return await it.reasoner.draft(ASK, None, nothing_printed, deadline())
    return await it.stepwise.chain_of_thought(ASK, None, nothing_printed, deadline())


@pytest.mark.parametrize("schema", GOOD)
def test_a_cut_reply_is_read_as_far_as_it_is_complete(schema: type[Structured]) -> None:
    text = json.dumps(GOOD[schema])
    complete = schema.model_validate(GOOD[schema])
    for length in range(1, len(text)):
        read = cut_off(schema, text[:length])
        if read is None:
            continue
        for field, details in schema.model_fields.items():
            held, meant = getattr(read, field), getattr(complete, field)
            if isinstance(held, list):
                assert held == meant[: len(held)]
            elif details.is_required():
                assert meant.startswith(held)
            else:
                assert held in (meant, details.default), (field, text[:length])


def cut_off(schema: type[Structured], text: str) -> Structured | None:
    """What is read of a reply that ended here for its length; None if it is refused."""
    assembly = Assembly(schema)
    assembly.add(ChunkWire(choices=[ChoiceWire(delta=MessageWire(content=text), finish_reason="length")]))
    try:
        return whole(assembly.completion())
    except LoreglassError:
        return None


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["understand", "chain_of_thought"])
async def test_replies_are_not_logged(name: str) -> None:
    secret = "Zanzibar"
    with structlog.testing.capture_logs() as entries:
        async with bench({name: [says(f"{secret} {LOOK}"), says(secret)]}) as it:
            with pytest.raises(LoreglassError) as caught:
                await draft_of(it, name)
    assert entries
    assert secret not in f"{caught.value.detail} {entries}"
