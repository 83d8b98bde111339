"""Whatever the server does, the reasoners are honest or raise one of our errors."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import structlog

from bench.node import ServerTraits, says
from chassis.errors import LoreglassError
from gateway.llm.assembly import Assembly
from gateway.llm.reading import whole
from gateway.llm.schemas import ChainOfThought, Structured
from gateway.llm.wire import ChoiceWire, ChunkWire, MessageWire
from gateway.state import Draft, Entity, GenerationBudget, Judgement, Reply
from tests.unit.gateway.llm.stage import (
    ASK,
    FOLLOW_UP,
    Bench,
    bench,
    context,
    deadline,
    draft,
    nothing_printed,
    page,
    printed,
    unheard,
)
from tests.unit.gateway.llm.test_prompts import STAGES

pytestmark = pytest.mark.anyio

TURIN = page("Fiat was founded in Turin in 1899.", "Fiat")
FIAT = Entity("Fiat 500", 0.8)
SAID = Reply("Fiat was founded in Turin.", 0.9)

GOOD: dict[str, dict[str, Any]] = {
    "understand": {
        "reasoning": ["It is a Fiat 500."],
        "entity": "Fiat 500",
        "answer": "Fiat is from Turin.",
        "answerability": "check",
        "image_search": "car",
        "text_search": ["Where was Fiat founded?", "When was Fiat founded?"],
    },
    "chain_of_thought": {
        "reasoning": ["It is a Fiat 500."],
        "object_label": "car",
        "entity": "Fiat 500",
        "answer": "Fiat is from Turin.",
        "answerability": "check",
    },
    "choose_tools": {"reason": "A fact is missing.", "tools": ["text_search"]},
    "list_objects": {"objects": ["car", "dog"]},
    "select_object": {"reason": "It is in front.", "object_label": "car"},
    "match_entity": {"reason": "It says so.", "candidate": 1},
    "split_query": {"reason": "One fact.", "queries": ["Where was Fiat founded?"]},
    "enhance_queries": {"queries": ["Where was Fiat founded?"]},
}
TEXTS = {
    "answer": "Fiat was founded in Turin.",
    "judge": "yes",
    "rewrite": "Where was the maker of the Fiat 500 founded?",
}
SCRIPT = {name: says(reply) for name, reply in [*GOOD.items(), *TEXTS.items()]}

SCHEMAS: dict[str, type[Structured]] = {
    "chain_of_thought": ChainOfThought,
    **{name.removeprefix("qa_dragon/"): schema for name, schema in STAGES.items()},
}

CALLS: dict[str, Callable[[Bench], Awaitable[Any]]] = {
    "understand": lambda it: it.reasoner.draft(ASK, None, nothing_printed, unheard, deadline()),
    "chain_of_thought": lambda it: it.stepwise.chain_of_thought(ASK, None, nothing_printed, deadline()),
    "choose_tools": lambda it: it.stepwise.choose_tools(ASK, draft(), deadline()),
    "list_objects": lambda it: it.stepwise.list_objects(ASK, deadline()),
    "select_object": lambda it: it.stepwise.select_object(ASK, ["car", "dog"], deadline()),
    "match_entity": lambda it: it.stepwise.match_entity(ASK, draft(), [FIAT], printed(), deadline()),
    "split_query": lambda it: it.stepwise.split_query(ASK, draft(), deadline()),
    "enhance_queries": lambda it: it.stepwise.enhance_queries(ASK, ["founded"], FIAT, deadline()),
    "answer": lambda it: it.reasoner.answer(ASK, draft(), context(TURIN), GenerationBudget(), deadline()),
    "judge": lambda it: it.reasoner.judge(ASK, SAID, context(TURIN), GenerationBudget(), deadline()),
    "rewrite": lambda it: it.reasoner.rewrite(FOLLOW_UP, deadline()),
}

LIMITED = {
    "no json at all": ServerTraits(json_schema=False, json_object=False),
    "no logprobs": ServerTraits(logprobs=False),
    "no streams": ServerTraits(streams=False),
    "refuses late": ServerTraits(json_schema=False, logprobs=False, refuses_in_stream=True),
}


@pytest.mark.parametrize("traits", LIMITED.values(), ids=LIMITED.keys())
async def test_limited_server_gives_the_same_results(traits: ServerTraits) -> None:
    async with bench(SCRIPT) as able, bench(SCRIPT, traits) as it:
        for name, call in CALLS.items():
            assert unmeasured(await call(it)) == unmeasured(await call(able)), name


def unmeasured(result: Any) -> Any:
    """The result without what only log probabilities tell."""
    if isinstance(result, Draft):
        return result.answer, result.entity, result.tools, result.sub_queries, result.self_contained
    if isinstance(result, Reply):
        return result.answer, result.quotes
    return (result.probability or 0.0) > 0.5 if isinstance(result, Judgement) else result


@pytest.mark.parametrize("name", ["understand", "chain_of_thought"])
async def test_declined_draft_has_no_answer(name: str) -> None:
    async with bench({name: says("", refusal="I can't help with that.")}) as it:
        made = await CALLS[name](it)
    assert (made.answer, made.entity, made.confidence, made.self_contained) == (None, None, None, False)
    assert made.tools


@pytest.mark.parametrize("name", GOOD)
def test_a_cut_reply_is_read_as_far_as_it_is_complete(name: str) -> None:
    text = json.dumps(GOOD[name])
    complete = SCHEMAS[name].model_validate(GOOD[name])
    for length in range(1, len(text)):
        read = cut_off(SCHEMAS[name], text[:length])
        if read is None:
            continue
        for field, details in SCHEMAS[name].model_fields.items():
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


async def test_replies_are_not_logged() -> None:
    secret = "Zanzibar"
    script = {name: [says(f"{secret} {reply!s}"), says(secret)] for name, reply in {**GOOD, **TEXTS}.items()}
    details: list[str] = []
    with structlog.testing.capture_logs() as entries:
        async with bench(script) as it:
            for call in (*CALLS.values(), *CALLS.values()):
                try:
                    await call(it)
                except LoreglassError as error:
                    details.append(error.detail)
    assert len(details) >= len(GOOD)
    assert secret not in f"{details} {entries}"
