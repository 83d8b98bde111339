"""Each of the models' calls keeps its deadline, and ends at the server when its caller leaves."""

import anyio
import pytest

from bench.node import says
from chassis.errors import DeadlineExceeded
from chassis.resilience.deadlines import Deadline
from gateway.pipelines.qa_dragon.port import StepwiseReasoner
from gateway.state import Entity, GenerationBudget, Reply
from tests.unit.gateway.llm.stage import (
    ASK,
    FOLLOW_UP,
    Bench,
    bench,
    context,
    draft,
    nothing_printed,
    page,
    printed,
)

pytestmark = pytest.mark.anyio

FIAT = Entity("Fiat 500", 0.8)
TURIN = page("Fiat was founded in Turin in 1899.", "Fiat")
STEPS = (
    "chain_of_thought",
    "choose_tools",
    "list_objects",
    "select_object",
    "match_entity",
    "split_query",
    "enhance_queries",
    "answer",
    "judge",
    "rewrite",
)


async def take(step: str, reasoner: StepwiseReasoner, deadline: Deadline) -> object:
    """One step of QA-Dragon."""
    given: dict[str, tuple[object, ...]] = {
        "chain_of_thought": (ASK, None, nothing_printed),
        "choose_tools": (ASK, draft()),
        "list_objects": (ASK,),
        "select_object": (ASK, ["car", "dog"]),
        "match_entity": (ASK, draft(), [FIAT], printed()),
        "split_query": (ASK, draft()),
        "enhance_queries": (ASK, ["founded"], FIAT),
        "answer": (ASK, draft(), context(TURIN), GenerationBudget()),
        "judge": (ASK, Reply("Turin.", 0.9), context(TURIN), GenerationBudget()),
        "rewrite": (FOLLOW_UP,),
    }
    return await getattr(reasoner, step)(*given[step], deadline)


async def abandoned(it: Bench) -> bool:
    """Whether the server saw its one caller leave."""
    (request,) = it.server.requests
    with anyio.fail_after(20):
        await request.finished.wait()
    return request.abandoned


@pytest.mark.parametrize("step", STEPS)
async def test_a_step_whose_time_is_over_leaves_the_server(step: str) -> None:
    async with bench({step: says("yes", hold=anyio.Event())}) as it:
        with anyio.fail_after(20), pytest.raises(DeadlineExceeded):
            await take(step, it.stepwise, Deadline.after_ms(400))
        assert it.server.requests == [] or await abandoned(it)  # a slow machine may not get to ask


@pytest.mark.parametrize("step", STEPS)
async def test_a_step_whose_caller_leaves_leaves_the_server(step: str) -> None:
    async with bench({step: says("yes", hold=anyio.Event())}) as it:
        async with anyio.create_task_group() as group:
            group.start_soon(take, step, it.stepwise, Deadline.after_ms(60_000))
            with anyio.fail_after(20):
                while not it.server.requests:
                    await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert await abandoned(it)
