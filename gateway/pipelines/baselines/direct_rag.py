"""Both searches as they are and one call over what they bring: "Direct RAG" of QA-Dragon's Tables 2 and 3."""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.baselines.port import BaselineReasoner
from gateway.pipelines.baselines.retrieval import (
    answer_from_search,
    as_answered,
    known_things,
    read_for_reader,
)
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


STAGE_GRAPH = StageGraph(
    "direct-rag", ((Stage.IMAGE_SEARCH, Stage.TEXT_SEARCH), (Stage.ANSWER,), (Stage.SESSION,))
)


@dataclass(frozen=True, slots=True)
class DirectRagPipeline:
    """The photo as the image query, the question as the text query; no router, no rerank, no verifier."""

    services: Services
    reasoner: BaselineReasoner
    retrieval: RetrievalLimits
    fallback: BaselineReasoner | None = None
    name: str = "direct-rag"
    stage_graph: StageGraph = STAGE_GRAPH

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Search pictures and pages side by side; answer from what comes, in the order in which it comes."""
        services = self.services
        async with prefetching() as group:
            read = read_for_reader(group, services, query, run, self.fallback)
            things = begin_image_search(group, services, query, run, self.retrieval.image_hits)
            pages = await self._find_pages(query, run)
            image_chars = round(run.plan.evidence_chars * IMAGE_SHARE)
            known = known_things(await things.result(), run)
            found = replace(known, pages=evidence.in_search_order(pages))
            found = found.within(image_chars, run.plan.evidence_chars - image_chars)
            reply = await answer_from_search(self.reasoner, self.fallback, query, found, read, run)
            outcome = await as_answered(query, reply, Route.RAG, found.evidence, read, run)
        return outcome

    async def _find_pages(self, query: Query, run: Run) -> tuple[Evidence, ...]:
        return await evidence.find_pages(self.services, (query.question,), run)
