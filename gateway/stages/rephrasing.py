"""The query rephrasing module (QA-Dragon, section 3.5.1): split, then made clear when read alone."""

from gateway.budget.stages import Stage
from gateway.reasoning.port import StepwiseReasoner
from gateway.stages.evidence import NO_QUERIES
from gateway.stages.run import Run
from gateway.state import Ask, Draft, Entity


async def split(reasoner: StepwiseReasoner, ask: Ask, draft: Draft, run: Run) -> tuple[str, ...]:
    """Sub-queries; the question itself when there are none, or no time for any."""
    if run.plan.sub_queries <= 1:
        await run.skip(Stage.QUERY_SPLIT)
        return (ask.question,)
    queries = await run.optional(Stage.QUERY_SPLIT, reasoner.split_query, ask, draft, otherwise=NO_QUERIES)
    run.explain.note(Stage.QUERY_SPLIT, queries)
    return queries or (ask.question,)


async def enhance(
    reasoner: StepwiseReasoner, ask: Ask, queries: tuple[str, ...], entity: Entity | None, run: Run
) -> tuple[str, ...]:
    """The same with the thing's name in place of "this"; as they were when that cannot be had."""
    enhanced = await run.optional(
        Stage.QUERY_ENHANCEMENT, reasoner.enhance_queries, ask, queries, entity, otherwise=NO_QUERIES
    )
    run.explain.note(Stage.QUERY_ENHANCEMENT, enhanced)
    return enhanced or queries
