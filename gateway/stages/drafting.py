"""The first look at a question, by the model or, when that cannot be had in time, without one."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

from chassis.deadlines import Deadline
from gateway.budget.stages import Stage
from gateway.stages.run import Run
from gateway.state import Draft

Arguments = TypeVarTuple("Arguments")


async def first_draft(
    run: Run,
    reason: Callable[[*Arguments, Deadline], Awaitable[Draft]],
    resort: Callable[[*Arguments, Deadline], Awaitable[Draft]] | None,
    *arguments: *Arguments,
) -> Draft:
    """The provisional answer, and what must be looked up. Signal: `draft_confidence`."""
    draft = await run.or_resort(Stage.DRAFT, reason, resort, *arguments)
    run.explain.draft(draft.answer)
    run.explain.signal("draft_confidence", draft.confidence)
    return draft
