"""`three-step`: the BlackPearl team's system for KDD Cup 2025 (arXiv 2507.21520), all three tasks in one.

Their task 1 is the image search and its texts; tasks 2 and 3 are the three steps, 3 with the conversation.
What differs, and why: the model is not fine-tuned (the prompts ask for what theirs was trained to do); the
query step reads earlier answers beside earlier questions, as in their released code and figure 6 (section 3.1
names questions only); the answer of tasks 2 and 3 reads task 1's texts, too, unless `image-search` is left
out; ten things in place of ten images, of which several may show one thing; each result is shortened to its
share of what the model reads, for the list as for the answer.
The answer is given as it is said: nothing verifies it.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from contracts.text_search import TextSearchRequest
from gateway.clients.services import Services
from gateway.pipelines.three_step.model import ThreeStepVlmReasoner, some_of
from gateway.planning.latencies import Work
from gateway.planning.plan import StageGraph
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.reasoning.pieces import first_pieces, shorten
from gateway.state import Context, Entity, Evidence, PhotoText, Query
from gateway.steps import evidence
from gateway.steps.answering import answer_unchecked
from gateway.steps.conclusion import Outcome
from gateway.steps.photo import begin_image_search, fuse
from gateway.thresholds import Thresholds

IMAGE_CHARS, LIST_CHARS, PAGES_CHARS = 6_000, 20_000, 6_000
"""Characters in a prompt: of the nearest images' texts, the list to rank and the ranked results."""
NEAR_IMAGES, SAMPLES, CHUNKS, LIST_LENGTH = 10, 3, 30, 10
"""The paper's counts: section 4.1, figure 3."""

MODULES = frozenset(
    {
        *("image-search", "text-search", "query-rewriting", "multi-query", "reranking"),
        "earlier-answers",
    }
)
"""Modules that an experiment may leave out: the rows of the paper's Tables 5 and 6 that are no training.

Without `image-search`: nothing is known of the nearest images (tasks 2 and 3 as published); `text-search`:
their texts alone (task 1); `query-rewriting`: the question itself is the search; `multi-query`: one draw;
`reranking`: the first results of the search; `earlier-answers`: the query step reads earlier questions only.
"""

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
    needs_model=True,
)


@dataclass(frozen=True, slots=True)
class ThreeStepPipeline:
    """Search by several wordings, rerank what the best of them found as a list, answer briefly."""

    services: Services
    reasoner: ThreeStepVlmReasoner
    thresholds: Thresholds
    name: str = "three-step"
    stage_graph: StageGraph = STAGE_GRAPH
    missing: frozenset[str] = frozenset()
    modules: ClassVar[frozenset[str]] = MODULES

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Image search beside step 1, web search (3.1); step 2, reranking (3.2); step 3, the answer."""
        async with prefetching() as group:
            sees = "image-search" not in self.missing
            begun = begin_image_search(group, self.services, query, run, NEAR_IMAGES, now=sees)
            if not sees:
                begun.cancel()
            pages = await self._find_pages(query, run)
            context = self._context(await begun.result(), pages, run)
            tokens = evidence.prompt_tokens(context.evidence, IMAGE_CHARS + PAGES_CHARS)
            answer = partial(self.reasoner.answer, query, context)
            return await answer_unchecked(answer, query, context, tokens, run)

    async def _find_pages(self, query: Query, run: Run) -> tuple[Evidence, ...]:
        """Run steps 1 and 2."""
        if "text-search" in self.missing:
            return ()
        search, results = await self._search(await self._sample(query, run), run)
        return await self._rerank(query, search, results, run)

    async def _sample(self, query: Query, run: Run) -> tuple[str, ...]:
        """Step 1: several searches drawn for the same question; the question itself if none can be had."""
        if "query-rewriting" in self.missing:
            return (query.question,)
        if "earlier-answers" in self.missing:
            questions = tuple(replace(turn, answer="", abstained=False) for turn in query.history)
            query = replace(query, history=questions)
        samples = 1 if "multi-query" in self.missing else SAMPLES
        count, queries = min(samples, run.plan.sub_queries), tuple[str, ...]()
        async with run.optional(Stage.QUERY_SAMPLING), run.stage(Stage.QUERY_SAMPLING) as deadline:
            queries = await self.reasoner.sample_queries(query, count, deadline)
        run.explain.note(Stage.QUERY_SAMPLING, queries)
        return queries or (query.question,)

    async def _search(self, queries: tuple[str, ...], run: Run) -> tuple[str, tuple[Evidence, ...]]:
        """Search each query alone; return the first of those with most results, and its results."""
        size, groups = Work(len(queries)), dict[str, tuple[Evidence, ...]]()
        async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH, size) as deadline:
            chunks = run.plan.share_of_hits(CHUNKS)
            works = {query: partial(self._search_alone, query, chunks, deadline) for query in queries}
            groups = await some_of(works)
        best = max(groups, key=lambda query: len(groups[query]), default="")
        results = groups.get(best, ())
        run.explain.add_results(Stage.TEXT_SEARCH, results)
        sizes = (f"{len(group)} results: {query}" for query, group in groups.items())
        run.explain.note(Stage.TEXT_SEARCH, (*sizes, f"kept: {best}"))
        return best, results

    async def _search_alone(self, query: str, chunks: int, deadline: Deadline) -> tuple[Evidence, ...]:
        """Return the best passage of each page that the query finds, in search order."""
        request = TextSearchRequest(queries=[query], k=chunks, depth=chunks)
        passages = await self.services.search_pages(request, deadline)
        return tuple(map(evidence.passage_evidence, passages))

    async def _rerank(
        self, query: Query, search: str, results: tuple[Evidence, ...], run: Run
    ) -> tuple[Evidence, ...]:
        """Step 2: what helps, in order; the order of the search if the list cannot be had."""
        words = f"{query.question} {search}"
        listed = shorten(results, run.plan.share_of_evidence(LIST_CHARS), words)
        if not listed:
            return listed
        order = (await self._rank(query, listed, run))[:LIST_LENGTH]
        ranked = evidence.in_search_order([results[place] for place in order])
        return shorten(ranked, run.plan.share_of_evidence(PAGES_CHARS), words)

    async def _rank(self, query: Query, listed: tuple[Evidence, ...], run: Run) -> tuple[int, ...]:
        """Return the places in the list, in the order of the model's own list."""
        order = tuple(range(len(listed)))
        if "reranking" in self.missing:
            return order
        size = Work(extra_prompt_tokens=evidence.prompt_tokens(listed, LIST_CHARS))
        async with run.optional(Stage.LISTWISE_RERANK), run.stage(Stage.LISTWISE_RERANK, size) as deadline:
            order = await self.reasoner.rank(query, listed, LIST_LENGTH, deadline)
        run.explain.note(Stage.LISTWISE_RERANK, (str(place + 1) for place in order))
        return order

    def _context(self, near: tuple[Entity, ...], pages: tuple[Evidence, ...], run: Run) -> Context:
        """Task 1's context, the texts of the nearest images, and the pages."""
        facts = first_pieces(evidence.attributes_of(near), run.plan.share_of_evidence(IMAGE_CHARS))
        run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in near))
        run.explain.signal("image_top", near[0].probability if near else None)
        likely = fuse(near, self.thresholds)
        return Context(Route.RAG, next(iter(likely), None), PhotoText(), (*facts, *pages))
