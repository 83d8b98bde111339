"""The published baselines: closed-book answers, "Direct RAG", and CRAG-MM's straightforward solutions.

`llm-only` and `cot` are the lower ends of QA-Dragon's Table 2 and CRAG-MM's appendix C.1; `direct-rag` is in
QA-Dragon's Tables 2 and 3. CRAG-MM's cut of .75 (section 5.1, appendix C.1) is a cosine of CLIP vectors;
image search of the lite profile compares no vectors, and there the cut is of its probability. Its 2,000 and
8,000 tokens are counted at four characters each, headings included.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from contracts.text_search import TextSearchRequest
from gateway.clients.services import Services
from gateway.pipelines.baselines.model import Findings, VlmBaselines, things_and_records
from gateway.planning.latencies import Work
from gateway.planning.plan import CHARS_A_TOKEN, StageGraph
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, Evidence, Query, Reply
from gateway.steps import evidence, photo
from gateway.steps.answering import answer_unchecked
from gateway.steps.conclusion import Outcome, conclude_unchecked
from gateway.steps.photo import begin_image_search
from gateway.thresholds import RetrievalLimits

AnswerAlone = Callable[[Query, Deadline], Awaitable[Reply]]
"""A model's way to answer without any search."""

LLM_ONLY = StageGraph(
    "llm-only", ((Stage.ANSWER,), (Stage.SESSION,)), reads=((Stage.ANSWER, 0),), needs_model=True
)
COT = StageGraph("cot", ((Stage.DRAFT,), (Stage.SESSION,)), needs_model=True)


@dataclass(frozen=True, slots=True)
class ClosedBookPipeline:
    """One call, no search, no verifier: `llm-only` with a plain answer, `cot` with reasons before it."""

    answer_alone: AnswerAlone
    name: str = "llm-only"
    stage_graph: StageGraph = LLM_ONLY
    stage: Stage = Stage.ANSWER

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Answer, and give the answer as it is."""
        async with run.required(self.stage) as deadline:
            reply = await self.answer_alone(query, deadline)
        return conclude_unchecked(query.question, reply, Context(Route.DIRECT), run.failures, run.explain)


IMAGE_SHARE = 1 / 3
"""Of the budget for evidence; the paper says nothing of how the searches share it."""
MODULES = frozenset({"text-search"})
"""Modules that an experiment may leave out: the column "Single-Source" of QA-Dragon's Table 2."""

DIRECT_RAG = StageGraph(
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
    stage_graph: StageGraph = DIRECT_RAG
    missing: frozenset[str] = frozenset()
    modules: ClassVar[frozenset[str]] = MODULES

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Search pictures and pages side by side; answer from what comes, in the order in which it comes."""
        async with prefetching() as group:
            things = begin_image_search(group, self.services, query, run, self.retrieval.image_hits)
            pages: tuple[Evidence, ...] = ()
            if "text-search" not in self.missing:
                pages = await evidence.find_pages(self.services, (query.question,), run)
            image_chars = round(run.plan.evidence_chars * IMAGE_SHARE)
            findings = things_and_records(await things.result(), run)
            results = replace(findings, pages=evidence.in_search_order(pages))
            results = results.within(image_chars, run.plan.evidence_chars - image_chars)
            return await answer_from_search(self.reasoner, query, results, run)


async def answer_from_search(reasoner: VlmBaselines, query: Query, results: Findings, run: Run) -> Outcome:
    """Return what one call makes of all that was found, as it was said."""
    context = Context(Route.RAG, evidence=results.evidence)
    run.explain.evidence(results.evidence)
    tokens = (results.image_chars + results.page_chars) // CHARS_A_TOKEN
    return await answer_unchecked(partial(reasoner.answer_from, query, results), query, context, tokens, run)


IMAGE_CONTEXT_TOKENS, WEB_CONTEXT_TOKENS = 2_000, 8_000
"""Tokens of image search and of web search in the prompts of the straightforward solutions (appendix C.1)."""

_TASK_1 = StageGraph(
    "crag-mm-task-1",
    ((Stage.IMAGE_SEARCH,), (Stage.ANSWER,), (Stage.SESSION,)),
    reads=((Stage.ANSWER, IMAGE_CONTEXT_TOKENS),),
    needs_model=True,
)
_TASK_2 = StageGraph(
    "crag-mm-task-2",
    (
        (Stage.IMAGE_SEARCH,),
        (Stage.QUERY_REWRITE,),
        (Stage.TEXT_SEARCH,),
        (Stage.ANSWER,),
        (Stage.SESSION,),
    ),
    reads=(
        (Stage.QUERY_REWRITE, IMAGE_CONTEXT_TOKENS),
        (Stage.ANSWER, IMAGE_CONTEXT_TOKENS + WEB_CONTEXT_TOKENS),
    ),
    needs_model=True,
)
CRAG_MM = {1: _TASK_1, 2: _TASK_2, 3: replace(_TASK_2, name="crag-mm-task-3")}
TASKS = tuple(CRAG_MM)
IMAGES, SIMILAR_FROM, PAGES = 30, 0.75, 50


@dataclass(frozen=True, slots=True)
class CragMmPipeline:
    """Task 1 searches pictures, task 2 pages as well, task 3 does so with the conversation in view.

    Tasks 1 and 2 are single-turn: a follow-up is answered as if nothing had been said before it.
    """

    services: Services
    reasoner: VlmBaselines
    task: int

    @property
    def name(self) -> str:
        """Return what callers put into `pipeline`."""
        return f"crag-mm-task-{self.task}"

    @property
    def stage_graph(self) -> StageGraph:
        """Return the task's graph."""
        return CRAG_MM[self.task]

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Search by the whole photo; then, but for task 1, by a rewritten question; answer from it all."""
        if self.task < 3:
            query = replace(query, history=(), photo_is_new=query.photo is not None)
        results = await self._search_pictures(query, run)
        if self.task > 1:
            results = await self._search_pages(query, results, run)
        return await answer_from_search(self.reasoner, query, results, run)

    async def _search_pictures(self, query: Query, run: Run) -> Findings:
        """Return what is alike enough: the names, and as many attributes as the budget holds."""
        hits = await photo.search_whole_photo(self.services, query, IMAGES, run)
        budget = run.plan.share_of_evidence(IMAGE_CONTEXT_TOKENS * CHARS_A_TOKEN)
        return things_and_records(hits, run, SIMILAR_FROM).within(budget, 0)

    async def _search_pages(self, query: Query, results: Findings, run: Run) -> Findings:
        """Search pages for the question, rewritten so that it needs no photo if the pipeline rewrites it."""
        size = Work(extra_prompt_tokens=results.image_chars // CHARS_A_TOKEN)
        search = query.question
        async with run.optional(Stage.QUERY_REWRITE), run.stage(Stage.QUERY_REWRITE, size) as deadline:
            search = await self.reasoner.rewrite_query(query, results, deadline)
        run.explain.note(Stage.QUERY_REWRITE, search)
        hits, pages = run.plan.share_of_hits(PAGES), tuple[Evidence, ...]()
        async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH) as deadline:
            passages = await self.services.search_pages(TextSearchRequest(queries=[search], k=hits), deadline)
            pages = evidence.in_search_order([evidence.passage_evidence(each) for each in passages])
        run.explain.add_results(Stage.TEXT_SEARCH, pages)
        budget = run.plan.share_of_evidence(WEB_CONTEXT_TOKENS * CHARS_A_TOKEN)
        return replace(results, pages=pages).within(results.image_chars, budget)
