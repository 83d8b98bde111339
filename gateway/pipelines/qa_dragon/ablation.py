"""`qa-dragon` with modules left out: the ablation studies of its paper (Tables 2 and 4, Figure 3)."""

from dataclasses import dataclass, fields

from contracts.answer import Route, Verification
from contracts.domain_router import Domain
from gateway.pipelines.qa_dragon import tool_router
from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
from gateway.planning.prefetch import Prefetch
from gateway.planning.run import Run
from gateway.state import Context, Draft, Entity, Evidence, PhotoText, Query, Tool, Verdict
from gateway.steps import evidence
from gateway.steps.answering import answer_from
from gateway.steps.conclusion import Outcome, conclude
from gateway.steps.identify import named_by

MODULES = frozenset(
    {
        *("domain-router", "search-router", "tool-router", "query-splitting", "fusion-search", "reranking"),
        *("text-search", "verifier"),
    }
)
"""Without one of them:

`domain-router`: the generic chain of thought; `search-router`: every question takes the RAG branch;
`tool-router`: both searches; `query-splitting`: the question is the only query; `fusion-search`: the thing
that image search found stays out of the text queries; `reranking`: evidence in search order;
`text-search`: image search alone, the paper's single-source task; `verifier`: what is answered is said.
"""


@dataclass(frozen=True)
class AblatedQaDragon(QaDragonPipeline):
    """The paper's pipeline without the modules that are `missing`."""

    missing: frozenset[str] = frozenset()

    async def _route_domain(self, query: Query, read: Prefetch[PhotoText], run: Run) -> Domain | None:
        return None if "domain-router" in self.missing else await super()._route_domain(query, read, run)

    def _choose_branch(self, draft: Draft, run: Run) -> Route:
        return Route.RAG if "search-router" in self.missing else super()._choose_branch(draft, run)

    async def _choose_tools(
        self, query: Query, draft: Draft, domain: Domain | None, run: Run
    ) -> frozenset[Tool]:
        if "tool-router" in self.missing:
            return tool_router.EVERY_TOOL
        return await super()._choose_tools(query, draft, domain, run)

    async def _read_up(
        self, query: Query, draft: Draft, entity: Entity | None, run: Run
    ) -> tuple[Evidence, ...]:
        if "text-search" in self.missing:
            return ()
        fused = named_by(query, draft) if "fusion-search" in self.missing else entity
        return await super()._read_up(query, draft, fused, run)

    async def _split(self, query: Query, draft: Draft, run: Run) -> tuple[str, ...]:
        return (
            (query.question,)
            if "query-splitting" in self.missing
            else await super()._split(query, draft, run)
        )

    async def _score(
        self, request: evidence.SearchRequest, chunks: tuple[Evidence, ...], run: Run
    ) -> tuple[Evidence, ...]:
        if "reranking" in self.missing:
            return evidence.in_search_order(chunks)
        return await super()._score(request, chunks, run)

    async def _conclude(
        self, query: Query, draft: Draft, context: Context, domain: Domain | None, run: Run
    ) -> Outcome:
        if "verifier" not in self.missing:
            return await super()._conclude(query, draft, context, domain, run)
        reply, _ = await answer_from(self.reasoner, self.fallback, query, draft, context, run)
        accepted, explain = Verdict(1.0, verification=Verification.NONE), run.explain
        failures, cut_offs = run.failures, self.thresholds
        return conclude(query.question, reply, accepted, context, domain, failures, cut_offs, True, explain)


def without(pipeline: QaDragonPipeline, missing: frozenset[str]) -> AblatedQaDragon:
    """The same pipeline without these of `MODULES`."""
    parts = {part.name: getattr(pipeline, part.name) for part in fields(pipeline)}
    return AblatedQaDragon(**parts, missing=missing)
