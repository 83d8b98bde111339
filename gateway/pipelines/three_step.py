"""`three-step`: the BlackPearl team's system for KDD Cup 2025 (arXiv 2507.21520), all three tasks in one.

Their task 1 is the image search and its texts; tasks 2 and 3 are the three steps, 3 with the conversation.
What differs, and why: the model is not fine-tuned (the prompts ask for what theirs was trained to do); the
query step reads earlier answers beside earlier questions (all prompts of a request begin alike, so that the
server reads the photo once); results are cut to 100-word chunks before they are ranked, as everywhere here.
The answer is given as it is said: nothing verifies it.
"""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.budget.course import THREE_STEP, Course
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.pieces import first_pieces
from gateway.reasoning.sighting import Sighting
from gateway.reasoning.three_step import ThreeStepReasoner
from gateway.stages import evidence
from gateway.stages.conclusion import Outcome, answered
from gateway.stages.identify import fuse
from gateway.stages.photo_tools import entity_texts
from gateway.stages.query_groups import NO_GROUPS, Group, largest, search_groups
from gateway.stages.reading import begin_sighting
from gateway.stages.run import Run, side_by_side
from gateway.state import Ask, Entity, Evidence, Findings, PhotoText, Reply
from gateway.thresholds import Thresholds

IMAGE_CHARS, LIST_CHARS = 6_000, 20_000  # in all well below the 8,192 tokens that their model reads


@dataclass(frozen=True, slots=True)
class ThreeStepPipeline:
    """Search by several wordings, rerank what the best of them found as a list, answer briefly.

    `resort` answers when the reasoner's model cannot. Counts are the paper's: section 4.1, figure 3.
    """

    services: Services
    reasoner: ThreeStepReasoner
    thresholds: Thresholds
    resort: ThreeStepReasoner | None = None
    near_images: int = 10
    samples: int = 3
    hits: int = 30
    kept: int = 10
    name: str = "three-step"
    course: Course = THREE_STEP

    def using(self, thresholds: Thresholds) -> "ThreeStepPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """Image search beside step 1, web search (3.1); step 2, reranking (3.2); step 3, the answer."""
        async with side_by_side() as group:
            sees = self._steps(run).sees
            sighting = await begin_sighting(group, self.services, ask, run, self.near_images, sees=sees)
            found = await self._search(await self._sample(sighting, run), run)
            pages = await self._rerank(ask, found.chunks, run)
            findings = self._findings(await sighting.recognise(), pages, run)
            reply = await self._answer(sighting, findings, run)
        return answered(reply, findings, None, run.failures.values(), run.explain)

    async def _sample(self, sighting: Sighting, run: Run) -> tuple[str, ...]:
        """Step 1: several searches drawn for the same question; the question itself if none can be had."""
        sample = self._steps(run).sample_queries
        count = min(self.samples, run.plan.sub_queries)
        queries = await run.optional(
            Stage.QUERY_SAMPLING, sample, sighting, count, otherwise=evidence.NO_QUERIES
        )
        run.explain.note(Stage.QUERY_SAMPLING, queries)
        return queries or (sighting.ask.question,)

    async def _search(self, queries: tuple[str, ...], run: Run) -> Group:
        """Each query alone; the group of most results is the result."""
        hits = run.plan.share_of_hits(self.hits)
        groups = await run.optional(
            Stage.TEXT_SEARCH,
            search_groups,
            self.services,
            queries,
            hits,
            otherwise=NO_GROUPS,
            size=Work(len(queries)),
        )
        best = largest(groups)
        sizes = (f"{group.passages} results: {group.query}" for group in groups)
        run.explain.note(Stage.TEXT_SEARCH, (*sizes, f"kept: {best.query}"))
        return best

    async def _rerank(self, ask: Ask, found: tuple[Evidence, ...], run: Run) -> tuple[Evidence, ...]:
        """Step 2: what helps, in order; the order of the search if the list cannot be had."""
        steps = self._steps(run)
        found = first_pieces(found, run.plan.share_of_evidence(LIST_CHARS))
        if not found:
            return found
        if not steps.sees:
            inquiry = evidence.Inquiry(ask.question, (), None, ask.photo)
            ranked = await evidence.rank_chunks(self.services, inquiry, found, run)
            relevant = [item for item in ranked if item.score >= self.thresholds.relevant]
            return tuple(sorted(relevant, key=lambda item: -item.score)[: self.kept])
        size, unranked = (
            Work(extra_prompt_tokens=evidence.prompt_tokens(found, LIST_CHARS)),
            range(len(found)),
        )
        order = await run.optional(
            Stage.LISTWISE_RERANK, steps.rank, ask, found, self.kept, otherwise=tuple(unranked), size=size
        )
        run.explain.note(Stage.LISTWISE_RERANK, (str(place + 1) for place in order))
        return evidence.in_search_order([found[place] for place in order[: self.kept]])

    def _findings(self, near: tuple[Entity, ...], pages: tuple[Evidence, ...], run: Run) -> Findings:
        """Task 1's context, the texts of the nearest images, and the pages."""
        known = first_pieces(entity_texts(near), run.plan.share_of_evidence(IMAGE_CHARS))
        run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in near))
        run.explain.signal("image_top", near[0].probability if near else None)
        likely = fuse(near, self.thresholds)
        return Findings(Route.RAG, next(iter(likely), None), PhotoText(), (*known, *pages))

    async def _answer(self, sighting: Sighting, findings: Findings, run: Run) -> Reply:
        """Step 3, with the conversation."""
        effort = run.plan.effort
        shown = evidence.prompt_tokens(findings.evidence, IMAGE_CHARS + LIST_CHARS)
        size = Work(extra_prompt_tokens=shown, max_output_tokens=effort.answer_tokens)
        resort = self.resort.answer if self.resort else None
        return await run.or_resort(
            Stage.ANSWER, self.reasoner.answer, resort, sighting, findings, effort, size=size
        )

    def _steps(self, run: Run) -> ThreeStepReasoner:
        """Who takes the steps before the answer: not the model once the plan has no time for it."""
        return self.resort if self.resort and not run.plan.model else self.reasoner
