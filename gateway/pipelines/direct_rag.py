"""Both searches as they are and one call over what they bring: "Direct RAG" of QA-Dragon's Tables 2 and 3."""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.budget.course import DIRECT_RAG, Course
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.baselines import BaselineReasoner
from gateway.stages import evidence, look
from gateway.stages.conclusion import Outcome
from gateway.stages.retrieval import answer_from_search, as_answered, known_things, read_for_reader
from gateway.stages.run import Run, side_by_side
from gateway.state import Ask
from gateway.thresholds import Depths

IMAGE_SHARE = 1 / 3
"""Of the budget for evidence; the paper says nothing of how the searches share it."""


@dataclass(frozen=True, slots=True)
class DirectRagPipeline:
    """The photo as the image query, the question as the text query; no router, no rerank, no verifier."""

    services: Services
    reasoner: BaselineReasoner
    depths: Depths
    resort: BaselineReasoner | None = None
    name: str = "direct-rag"
    course: Course = DIRECT_RAG

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """Search pictures and pages side by side; answer from what comes, in the order in which it comes."""
        services, hits = self.services, self.depths.image_hits
        async with side_by_side() as group:
            read = read_for_reader(group, services, ask, run, self.resort)
            search, none = look.search_whole_photo, look.NO_CANDIDATES
            things = run.ahead(group, Stage.IMAGE_SEARCH, search, services, ask, hits, otherwise=none)
            pages = await evidence.find_pages(services, (ask.question,), run)
            image_chars = round(run.plan.evidence_chars * IMAGE_SHARE)
            known = known_things(await things.result(), run)
            found = replace(known, pages=evidence.in_search_order(pages))
            found = found.within(image_chars, run.plan.evidence_chars - image_chars)
            reply = await answer_from_search(self.reasoner, self.resort, ask, found, read, run)
            outcome = await as_answered(reply, Route.RAG, found.evidence, read, run)
        return outcome
