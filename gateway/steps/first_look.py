"""The first look of a question that the model cannot look at: no photo, or a model that sees none."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from gateway.planning.run import Run
from gateway.planning.stages import FALLBACK_STAGE, Stage
from gateway.state import Draft, Query

DraftByServices = Callable[[Deadline], Awaitable[Draft]]
"""Return what to look up and what the photo's print answers, without a model."""


def spared(*, sees_photos: bool) -> tuple[Stage, ...]:
    """Return the stages that a first question does not need, by whether the model sees photos."""
    return (Stage.QUERY_REWRITE,) if sees_photos else (Stage.QUERY_REWRITE, Stage.DRAFT)


class Rewriting(Protocol):
    """A reasoner that puts a follow-up question into words that need no conversation."""

    def rewrite(self, query: Query, deadline: Deadline) -> Awaitable[str]:
        """Return the question."""
        ...


async def draft_unseen(
    reasoner: Rewriting, by_services: DraftByServices | None, query: Query, run: Run
) -> Draft:
    """Return a draft without the model: of the services for a photo, else the question to search for."""
    run.spare(Stage.DRAFT)
    if query.photo is not None and by_services is not None:
        run.spare(Stage.QUERY_REWRITE)
        async with run.stage(FALLBACK_STAGE[Stage.DRAFT]) as deadline:
            return await by_services(deadline)
    if not query.history:
        run.spare(Stage.QUERY_REWRITE)
        return Draft.of_question()
    text = ""
    async with run.optional(Stage.QUERY_REWRITE), run.stage(Stage.QUERY_REWRITE) as deadline:
        text = await reasoner.rewrite(query, deadline)
    run.explain.note(Stage.QUERY_REWRITE, text)
    return Draft.of_question(text) if text else Draft.of_question()
