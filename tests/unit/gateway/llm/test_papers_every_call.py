"""Each of the papers' model calls: hostile words, failures, deadlines, and callers who leave."""

from contextlib import suppress
from typing import Any

import pytest

from bench.node import fails, overloaded, says
from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Deadline
from gateway.llm.failures import VlmReplyUnusable
from gateway.pipelines.wiki_prf.tool_plan import Gathered, ToolPlan
from gateway.state import GenerationBudget
from tests.unit.gateway.llm.papers import OBJECT_FORMS, TEXT_FORMS, TRAP, Bench, bench
from tests.unit.gateway.llm.stage import ASK, context, deadline

pytestmark = pytest.mark.anyio


async def take(it: Bench, step: str, until: Deadline) -> object:
    """One step."""
    steps: dict[str, Any] = {
        "sample_query": lambda: it.three_step.sample_queries(ASK, 1, until),
        "rank_evidence": lambda: it.three_step.rank(ASK, (TRAP,), 10, until),
        "answer_briefly": lambda: it.three_step.answer(ASK, context(TRAP), GenerationBudget(), until),
        "plan_tools": lambda: it.wiki_prf.plan_tools(ASK, until),
        "describe_photo": lambda: it.wiki_prf.describe(ASK, TRAP.text, until),
        "filter_knowledge": lambda: it.wiki_prf.filter(ASK, ToolPlan(), Gathered((TRAP,), (TRAP,)), until),
        "answer_from_knowledge": lambda: it.wiki_prf.answer(
            ASK, TRAP.text, context(TRAP), GenerationBudget(), until
        ),
    }
    return await steps[step]()


STEPS = (*OBJECT_FORMS, *TEXT_FORMS)


@pytest.mark.parametrize("step", STEPS)
async def test_hostile_words_stay_inside_their_fence(step: str) -> None:
    async with bench({step: says("x")}) as it:
        with suppress(VlmReplyUnusable):  # "x" is not every form
            await take(it, step, deadline())
    text = it.server.requests[0].text
    for mark in ("</search_result>", "<|eot_id|>", "[INST]", "[/INST]"):
        assert mark not in text
    assert text.count("<<<end>>>") == text.count("<<<") // 2


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("reply", [fails(500), overloaded(), says("", refusal="No.")])
async def test_what_the_server_cannot_do_is_an_error_of_ours_or_an_honest_none(step: str, reply: Any) -> None:
    async with bench({step: reply}) as it:
        try:
            taken: Any = await take(it, step, deadline())
        except LoreglassError:
            return
    assert taken.answer is None
