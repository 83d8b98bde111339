"""The query rephrasing module (QA-Dragon, section 3.5.1): split, then made clear when read alone."""

from gateway.pipelines.qa_dragon.port import StepwiseReasoner
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Draft, Entity, Query


async def split(reasoner: StepwiseReasoner, query: Query, draft: Draft, run: Run) -> tuple[str, ...]:
    """Sub-queries; the question itself when there are none, or no time for any."""
    if run.plan.sub_queries <= 1:
        await run.skip(Stage.QUERY_SPLIT)
        return (query.question,)
    queries: tuple[str, ...] = ()
    async with run.optional(Stage.QUERY_SPLIT), run.stage(Stage.QUERY_SPLIT) as deadline:
        queries = await reasoner.split_query(query, draft, deadline)
    run.explain.note(Stage.QUERY_SPLIT, queries)
    return queries or (query.question,)


async def enhance(
    reasoner: StepwiseReasoner, query: Query, queries: tuple[str, ...], entity: Entity | None, run: Run
) -> tuple[str, ...]:
    """The same with the thing's name in place of "this"; as they were when that cannot be had."""
    if query.photo is None:
        run.spare(Stage.QUERY_ENHANCEMENT)
        return queries  # there is no thing whose name could go in
    enhanced: tuple[str, ...] = ()
    async with run.optional(Stage.QUERY_ENHANCEMENT), run.stage(Stage.QUERY_ENHANCEMENT) as deadline:
        enhanced = await reasoner.enhance_queries(query, queries, entity, deadline)
    run.explain.note(Stage.QUERY_ENHANCEMENT, enhanced)
    return enhanced or queries
