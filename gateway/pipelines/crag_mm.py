"""CRAG-MM's straightforward solutions of its three tasks (section 5.1, appendix C.1).

Its cut of .75 is a cosine of CLIP vectors; here it is held against image search's calibrated probability that
both show the same thing. Its 2,000 and 8,000 tokens are counted at four characters each, headings included.
"""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.budget.course import (
    CHARS_A_TOKEN,
    COURSES,
    IMAGE_CONTEXT_TOKENS,
    WEB_CONTEXT_TOKENS,
    Course,
)
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.baselines import BaselineReasoner, Retrieved
from gateway.stages import look
from gateway.stages.conclusion import Outcome
from gateway.stages.evidence import NO_EVIDENCE
from gateway.stages.retrieval import (
    answer_from_search,
    as_answered,
    known_things,
    read_for_reader,
    search_snippets,
)
from gateway.stages.run import Ahead, Run, side_by_side
from gateway.state import Ask, PhotoText

TASKS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class CragMmPipeline:
    """Task 1 searches pictures, task 2 pages as well, task 3 does so with the conversation in view.

    Tasks 1 and 2 are single-turn: a follow-up is answered as if nothing had been said before it.
    """

    services: Services
    reasoner: BaselineReasoner
    task: int
    resort: BaselineReasoner | None = None
    images: int = 30
    similar_from: float = 0.75
    pages: int = 50

    @property
    def name(self) -> str:
        """What callers put into `pipeline`."""
        return f"crag-mm-task-{self.task}"

    @property
    def course(self) -> Course:
        """The task's own."""
        return COURSES[self.name]

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """Search by the whole photo; then, but for task 1, by a rewritten question; answer from it all."""
        if self.task < 3:
            ask = replace(ask, history=(), photo_is_new=ask.photo is not None)
        async with side_by_side() as group:
            read = read_for_reader(group, self.services, ask, run, self.resort)
            found = await self._search_pictures(ask, run)
            if self.task > 1:
                found = await self._search_pages(ask, found, read, run)
            reply = await answer_from_search(self.reasoner, self.resort, ask, found, read, run)
            outcome = await as_answered(reply, Route.RAG, found.evidence, read, run)
        return outcome

    async def _search_pictures(self, ask: Ask, run: Run) -> Retrieved:
        """What is alike enough: the names, and as many attributes as the budget holds."""
        search, none = look.search_whole_photo, look.NO_CANDIDATES
        hits = await run.optional(Stage.IMAGE_SEARCH, search, self.services, ask, self.images, otherwise=none)
        budget = run.plan.share_of_evidence(IMAGE_CONTEXT_TOKENS * CHARS_A_TOKEN)
        return known_things(hits, run, self.similar_from).within(budget, 0)

    async def _search_pages(self, ask: Ask, found: Retrieved, read: Ahead[PhotoText], run: Run) -> Retrieved:
        """Pages for the question as it reads without the photo, or as it is if nobody rewrites it."""
        reader = self.resort if self.resort and not run.plan.model else self.reasoner
        context = Work(extra_prompt_tokens=found.image_chars // CHARS_A_TOKEN)
        rewrite, stage = reader.rewrite_query, Stage.QUERY_REWRITE
        query = await run.optional(
            stage, rewrite, ask, found, read.result, otherwise=ask.question, size=context
        )
        run.explain.note(Stage.QUERY_REWRITE, query)
        search, hits = search_snippets, run.plan.share_of_hits(self.pages)
        pages = await run.optional(
            Stage.TEXT_SEARCH, search, self.services, query, hits, otherwise=NO_EVIDENCE
        )
        budget = run.plan.share_of_evidence(WEB_CONTEXT_TOKENS * CHARS_A_TOKEN)
        return replace(found, pages=pages).within(found.image_chars, budget)
