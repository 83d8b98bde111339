"""`loreglass` with modules left out, for experiments: they are not begun, and are no degradation."""

from asyncio import TaskGroup
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline, Prefetched
from gateway.planning.prefetch import Prefetch
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, Draft, Entity, Evidence, PhotoText, Query, Reply, Tool, Verdict
from gateway.steps import evidence
from gateway.steps.conclusion import Outcome
from gateway.steps.identify import named_by
from gateway.steps.photo import begin_image_search, begin_reading
from gateway.steps.verification import Judge

T = TypeVar("T")

MODULES = frozenset(
    {
        *("crops", "image-search", "ocr", "fusion-search", "reranking", "second-hop", "verifier"),
        *("search-router", "judge", "text-search", "domain-advice"),
    }
)
"""Without one of them:

`crops`: the whole photo alone is searched; `image-search`: not even that; `ocr`: no stage is given the
photo's print; `fusion-search`: what image search found stays out of the text queries; `reranking`: evidence
in search order; `second-hop`: one search; `verifier`: no check of the answer but that of its citations;
`search-router`: every question is searched for; `judge`: the verifier's other checks decide;
`text-search`: image search alone; `domain-advice`: the draft is given none.
"""


@dataclass(frozen=True)
class AblatedLoreglass(LoreglassPipeline):
    """The default pipeline without the modules that are `missing`."""

    missing: frozenset[str] = frozenset()

    async def _advise(self, query: Query, prefetched: Prefetched) -> Domain | None:
        return None if "domain-advice" in self.missing else await super()._advise(query, prefetched)

    def _choose_route(self, draft: Draft, run: Run) -> Route:
        return Route.RAG if "search-router" in self.missing else super()._choose_route(draft, run)

    async def _look_up(
        self, query: Query, draft: Draft, route: Route, prefetched: Prefetched, run: Run
    ) -> Outcome:
        if "image-search" in self.missing:
            draft = replace(draft, tools=draft.tools - {Tool.IMAGE_SEARCH})
        return await super()._look_up(query, draft, route, prefetched, run)

    def _read_photo(self, group: TaskGroup, query: Query, run: Run) -> Prefetch[PhotoText]:
        if "ocr" not in self.missing:
            return super()._read_photo(group, query, run)
        return _never_begun(begin_reading(group, self.services, query, run, now=False))

    def _search_photo(self, group: TaskGroup, query: Query, run: Run) -> Prefetch[tuple[Entity, ...]]:
        if "image-search" not in self.missing:
            return super()._search_photo(group, query, run)
        return _never_begun(begin_image_search(group, self.services, query, run, 0, now=False))

    def _begin_crops(
        self, group: TaskGroup, query: Query, label: str, prefetched: Prefetched, run: Run
    ) -> None:
        if "image-search" not in self.missing:
            super()._begin_crops(group, query, label, prefetched, run)

    def _fuse(self, query: Query, draft: Draft, entity: Entity | None) -> tuple[str, ...]:
        return super()._fuse(
            query, draft, named_by(query, draft) if "fusion-search" in self.missing else entity
        )

    async def _search_and_rank(
        self,
        request: evidence.SearchRequest,
        known: Sequence[Evidence],
        run: Run,
        stages: tuple[Stage, Stage],
    ) -> tuple[Evidence, ...]:
        pages: tuple[Evidence, ...] = ()
        if "text-search" not in self.missing:
            pages = await evidence.find_pages(self.services, request.queries, run, stages[0])
        if "reranking" not in self.missing:
            return await evidence.rank_chunks(self.services, request, (*known, *pages), run, stages[1])
        return evidence.in_search_order((*known, *pages)[: run.plan.chunks])

    async def _second_hop(self, query: Query, draft: Draft, context: Context, run: Run) -> tuple[str, ...]:
        if self.missing & {"second-hop", "text-search"}:
            return ()
        return await super()._second_hop(query, draft, context, run)

    async def _verify(
        self, judge: Judge | None, query: Query, reply: Reply, context: Context, run: Run
    ) -> Verdict | None:
        if "verifier" in self.missing:
            return None
        return await super()._verify(None if "judge" in self.missing else judge, query, reply, context, run)


def _never_begun(prefetch: Prefetch[T]) -> Prefetch[T]:
    prefetch.cancel()
    return prefetch


def without(pipeline: LoreglassPipeline, missing: frozenset[str]) -> AblatedLoreglass:
    """The same pipeline without these of `MODULES`."""
    parts = {part.name: getattr(pipeline, part.name) for part in fields(pipeline)}
    if "crops" in missing:
        parts["retrieval"] = replace(pipeline.retrieval, crops=0)
    return AblatedLoreglass(**parts, missing=missing)
