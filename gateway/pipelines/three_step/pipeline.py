"""`three-step`: the BlackPearl team's system for KDD Cup 2025 (arXiv 2507.21520), all three tasks in one.

Their task 1 is the image search and its texts; tasks 2 and 3 are the three steps, 3 with the conversation.
What differs, and why: the model is not fine-tuned (the prompts ask for what theirs was trained to do); the
query step reads earlier answers beside earlier questions (all prompts of a request begin alike, so that the
server reads the photo once); each result is shortened to its share of what the model reads, for the list as
for the answer.
The answer is given as it is said: nothing verifies it.
"""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.three_step.port import ThreeStepReasoner
from gateway.pipelines.three_step.query_groups import Group, largest, search_groups
from gateway.planning.latencies import Work
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage
from gateway.reasoning.photo_context import PhotoContext
from gateway.reasoning.pieces import first_pieces, shortened
from gateway.state import Context, Entity, Evidence, PhotoText, Query, Reply
from gateway.steps import evidence
from gateway.steps.conclusion import Outcome, answered, out_of_time
from gateway.steps.identify import fuse
from gateway.steps.photo import begin_photo_context
from gateway.thresholds import Thresholds

IMAGE_CHARS, LIST_CHARS, PAGES_CHARS = 6_000, 20_000, 6_000
"""What of the nearest images' texts, of the list to rank and of the ranked results the model reads."""


STAGE_GRAPH = StageGraph(
    "three-step",
    (
        (Stage.IMAGE_SEARCH, Stage.QUERY_SAMPLING),
        (Stage.TEXT_SEARCH,),
        (Stage.LISTWISE_RERANK,),
        (Stage.ANSWER,),
        (Stage.SESSION,),
    ),
    reads=((Stage.LISTWISE_RERANK, 5_000), (Stage.ANSWER, 3_000)),
)


@dataclass(frozen=True, slots=True)
class ThreeStepPipeline:
    """Search by several wordings, rerank what the best of them found as a list, answer briefly.

    `fallback` answers when the reasoner's model cannot. Counts are the paper's: section 4.1, figure 3.
    """

    services: Services
    reasoner: ThreeStepReasoner
    thresholds: Thresholds
    fallback: ThreeStepReasoner | None = None
    near_images: int = 10
    samples: int = 3
    chunks: int = 30
    kept: int = 10
    name: str = "three-step"
    stage_graph: StageGraph = STAGE_GRAPH

    def using(self, thresholds: Thresholds) -> "ThreeStepPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Image search beside step 1, web search (3.1); step 2, reranking (3.2); step 3, the answer."""
        async with prefetching() as group:
            sees = self._steps(run).sees
            photo_context = await begin_photo_context(
                group, self.services, query, run, self.near_images, sees=sees
            )
            found = await self._search(await self._sample(photo_context, run), run)
            pages = await self._rerank(query, found, run)
            context = self._context(await photo_context.recognise(), pages, run)
            reply = await self._answer(photo_context, context, run)
        return answered(query.question, reply, context, None, run.failures, run.explain)

    async def _sample(self, photo_context: PhotoContext, run: Run) -> tuple[str, ...]:
        """Step 1: several searches drawn for the same question; the question itself if none can be had."""
        count, queries = min(self.samples, run.plan.sub_queries), tuple[str, ...]()
        async with run.optional(Stage.QUERY_SAMPLING), run.stage(Stage.QUERY_SAMPLING) as deadline:
            queries = await self._steps(run).sample_queries(photo_context, count, deadline)
        run.explain.note(Stage.QUERY_SAMPLING, queries)
        return queries or (photo_context.query.question,)

    async def _search(self, queries: tuple[str, ...], run: Run) -> Group:
        """Each query alone; the group of most results is the result."""
        chunks = run.plan.share_of_hits(self.chunks)
        size, groups = Work(len(queries)), tuple[Group, ...]()
        async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH, size) as deadline:
            groups = await search_groups(self.services, queries, chunks, deadline)
        best = largest(groups)
        run.explain.found(Stage.TEXT_SEARCH, best.results)
        sizes = (f"{len(group.results)} results: {group.query}" for group in groups)
        run.explain.note(Stage.TEXT_SEARCH, (*sizes, f"kept: {best.query}"))
        return best

    async def _rerank(self, query: Query, found: Group, run: Run) -> tuple[Evidence, ...]:
        """Step 2: what helps, in order; the order of the search if the list cannot be had."""
        asked = f"{query.question} {found.query}"
        listed = shortened(found.results, run.plan.share_of_evidence(LIST_CHARS), asked)
        if not listed:
            return listed
        scores = await self._rank(query, listed, run)
        best = sorted(scores, key=lambda place: -scores[place])[: self.kept]
        kept = [replace(found.results[place], score=scores[place]) for place in best]
        return shortened(kept, run.plan.share_of_evidence(PAGES_CHARS), asked)

    async def _rank(self, query: Query, listed: tuple[Evidence, ...], run: Run) -> dict[int, float]:
        """By place in the list, the scores of what helps."""
        rank = self._ranked_by_model if self._steps(run).sees else self._ranked_by_service
        return await rank(query, listed, run)

    async def _ranked_by_model(
        self, query: Query, listed: tuple[Evidence, ...], run: Run
    ) -> dict[int, float]:
        """By place in the list, scores that keep the order of the model's own list."""
        size = Work(extra_prompt_tokens=evidence.prompt_tokens(listed, LIST_CHARS))
        order = tuple(range(len(listed)))
        async with run.optional(Stage.LISTWISE_RERANK), run.stage(Stage.LISTWISE_RERANK, size) as deadline:
            order = await self._steps(run).rank(query, listed, self.kept, deadline)
        run.explain.note(Stage.LISTWISE_RERANK, (str(place + 1) for place in order))
        ranked = evidence.in_search_order([listed[place] for place in order])
        return {place: item.score for place, item in zip(order, ranked, strict=True)}

    async def _ranked_by_service(
        self, query: Query, listed: tuple[Evidence, ...], run: Run
    ) -> dict[int, float]:
        """By place in the list, the reranker's scores of what is relevant."""
        request = evidence.SearchRequest(query.question, (), None, query.photo)
        ranked = enumerate(await evidence.rank_chunks(self.services, request, listed, run))
        return {place: item.score for place, item in ranked if item.score >= self.thresholds.relevant}

    def _context(self, near: tuple[Entity, ...], pages: tuple[Evidence, ...], run: Run) -> Context:
        """Task 1's context, the texts of the nearest images, and the pages."""
        known = first_pieces(evidence.attributes_of(near), run.plan.share_of_evidence(IMAGE_CHARS))
        run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in near))
        run.explain.signal("image_top", near[0].probability if near else None)
        likely = fuse(near, self.thresholds)
        return Context(Route.RAG, next(iter(likely), None), PhotoText(), (*known, *pages))

    async def _answer(self, photo_context: PhotoContext, context: Context, run: Run) -> Reply:
        """Step 3, with the conversation."""
        run.keep(out_of_time(photo_context.query.question, context))
        generation = run.plan.generation
        shown = evidence.prompt_tokens(context.evidence, IMAGE_CHARS + PAGES_CHARS)
        size = Work(extra_prompt_tokens=shown, max_output_tokens=generation.answer_tokens)
        async for reader, may_fail, stage in run.attempts(Stage.ANSWER, self.reasoner, self.fallback, size):
            async with may_fail, stage as deadline:
                reply = await reader.answer(photo_context, context, generation, deadline)
        return reply

    def _steps(self, run: Run) -> ThreeStepReasoner:
        """Who takes the steps before the answer: not the model once the plan has no time for it."""
        return run.reasoner(self.reasoner, self.fallback)
