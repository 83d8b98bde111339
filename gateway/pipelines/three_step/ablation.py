"""`three-step` with modules left out: the rows of BlackPearl's Tables 5 and 6 that are no training."""

from dataclasses import dataclass, fields

from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
from gateway.pipelines.three_step.query_groups import Group
from gateway.planning.run import Run
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import Evidence, Query
from gateway.steps import evidence

MODULES = frozenset({"image-search", "text-search", "query-rewriting", "multi-query", "reranking"})
"""Without one of them:

`image-search`: nothing is known of the nearest images; `text-search`: their texts alone, as in task 1;
`query-rewriting`: the question itself is the search; `multi-query`: one draw; `reranking`: the first results
of the search.
"""


@dataclass(frozen=True)
class AblatedThreeStep(ThreeStepPipeline):
    """The paper's pipeline without the modules that are `missing`."""

    missing: frozenset[str] = frozenset()

    async def _sample(self, photo_context: PhotoContext, run: Run) -> tuple[str, ...]:
        if "text-search" in self.missing:
            return ()
        if "query-rewriting" in self.missing:
            return (photo_context.query.question,)
        return await super()._sample(photo_context, run)

    async def _search(self, queries: tuple[str, ...], run: Run) -> Group:
        return Group("") if "text-search" in self.missing else await super()._search(queries, run)

    async def _rank(self, query: Query, listed: tuple[Evidence, ...], run: Run) -> dict[int, float]:
        if "reranking" in self.missing:
            return {place: item.score for place, item in enumerate(evidence.in_search_order(listed))}
        return await super()._rank(query, listed, run)


def without(pipeline: ThreeStepPipeline, missing: frozenset[str]) -> AblatedThreeStep:
    """The same pipeline without these of `MODULES`."""
    parts = {part.name: getattr(pipeline, part.name) for part in fields(pipeline)}
    if "image-search" in missing:
        parts["near_images"] = 0
    if "multi-query" in missing:
        parts["samples"] = 1
    return AblatedThreeStep(**parts, missing=missing)
