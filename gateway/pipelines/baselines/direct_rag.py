"""Both searches as they are and one call over what they bring: "Direct RAG" of QA-Dragon's Tables 2 and 3."""

from dataclasses import dataclass, replace
from typing import ClassVar

from gateway.clients.services import Services
from gateway.pipelines.baselines.model import VlmBaselines
from gateway.pipelines.baselines.retrieval import answer_from_search, known_things
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage
from gateway.state import Evidence, Query
from gateway.steps import evidence
from gateway.steps.conclusion import Outcome
from gateway.steps.photo import begin_image_search
from gateway.thresholds import RetrievalLimits

IMAGE_SHARE = 1 / 3
"""Of the budget for evidence; the paper says nothing of how the searches share it."""
MODULES = frozenset({"text-search"})
"""Modules that an experiment may leave out: the column "Single-Source" of QA-Dragon's Table 2."""

STAGE_GRAPH = StageGraph(
    "direct-rag",
    ((Stage.IMAGE_SEARCH, Stage.TEXT_SEARCH), (Stage.ANSWER,), (Stage.SESSION,)),
    needs_model=True,
)


@dataclass(frozen=True, slots=True)
class DirectRagPipeline:
    """The photo as the image query, the question as the text query; no router, no rerank, no verifier."""

    services: Services
    reasoner: VlmBaselines
    retrieval: RetrievalLimits
    name: str = "direct-rag"
    stage_graph: StageGraph = STAGE_GRAPH
    missing: frozenset[str] = frozenset()
    modules: ClassVar[frozenset[str]] = MODULES

    def without(self, missing: frozenset[str]) -> "DirectRagPipeline":
        """The same without these of `MODULES`."""
        return replace(self, missing=missing)

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Search pictures and pages side by side; answer from what comes, in the order in which it comes."""
        async with prefetching() as group:
            things = begin_image_search(group, self.services, query, run, self.retrieval.image_hits)
            pages: tuple[Evidence, ...] = ()
            if "text-search" not in self.missing:
                pages = await evidence.find_pages(self.services, (query.question,), run)
            image_chars = round(run.plan.evidence_chars * IMAGE_SHARE)
            known = known_things(await things.result(), run)
            found = replace(known, pages=evidence.in_search_order(pages))
            found = found.within(image_chars, run.plan.evidence_chars - image_chars)
            return await answer_from_search(self.reasoner, query, found, run)
