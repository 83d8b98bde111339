"""QA-Dragon as published: the paper's own order and every module of its section 3, kept as the baseline.

Where the paper and its released code differ, this follows the paper: the search router is a classifier, not
lists of words; every stage reads the conversation; a thing that cannot be cropped is searched by the full
photo; a sub-query that is missing costs that sub-query, not the search. Beyond the paper stands what the
platform promises: budgets, stages that may fail alone, OCR beside the first steps, checked citations.
"""

from dataclasses import dataclass, field, replace
from functools import partial

from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.pipelines.qa_dragon import rephrasing, tool_router, visual_tools
from gateway.pipelines.qa_dragon.port import StepwiseReasoner
from gateway.planning.prefetch import Prefetch, prefetching
from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage
from gateway.reasoning.port import ReadPhoto
from gateway.state import Context, Draft, Entity, Evidence, PhotoText, Query, Tool
from gateway.steps import evidence, photo
from gateway.steps.answering import answer_from
from gateway.steps.conclusion import Outcome, conclude, direct_answer
from gateway.steps.evidence import SearchRequest
from gateway.steps.first_look import draft_unseen
from gateway.steps.identify import identify, named_by
from gateway.steps.routing import SearchRouter
from gateway.steps.verification import verify
from gateway.thresholds import RetrievalLimits, Thresholds

TEXT_ONLY = frozenset({Tool.TEXT_SEARCH})


STAGE_GRAPH = StageGraph(
    "qa-dragon",
    (
        (Stage.OCR, Stage.DOMAIN_ROUTER),
        (Stage.DRAFT, Stage.QUERY_REWRITE),
        (Stage.TOOL_ROUTER,),
        (Stage.OBJECT_LIST,),
        (Stage.OBJECT_SELECTION,),
        (Stage.CROPPER,),
        (Stage.IMAGE_SEARCH,),
        (Stage.SELECT_ENTITY,),
        (Stage.QUERY_SPLIT,),
        (Stage.QUERY_ENHANCEMENT,),
        (Stage.TEXT_SEARCH,),
        (Stage.RERANKER,),
        (Stage.ANSWER,),
        (Stage.JUDGE,),
        (Stage.VERIFIER,),
        (Stage.SESSION,),
    ),
    crops_with_photo=True,
)


@dataclass(frozen=True, slots=True)
class QaDragonPipeline:
    """One model call a step, each step after the one whose result it needs."""

    services: Services
    reasoner: StepwiseReasoner
    thresholds: Thresholds
    retrieval: RetrievalLimits
    router: SearchRouter = field(default_factory=SearchRouter)
    fallback: StepwiseReasoner | None = None
    name: str = "qa-dragon"
    stage_graph: StageGraph = STAGE_GRAPH

    def using(self, thresholds: Thresholds) -> "QaDragonPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Pre-answer (3.1), search router (3.2), one of Table 1's branches, post-answer (3.7)."""
        async with prefetching() as group:
            read = run.prefetch(group, lambda: photo.read_text(self.services, query, run), PhotoText())
            domain = await self._route_domain(query, read, run)
            draft = await self._draft(query, domain, read.result, run)
            run.explain.draft(draft.answer, draft.confidence)
            route = self._choose_branch(draft, run)
            text = await read.result()
            if route is Route.DIRECT:
                outcome = direct_answer(draft, text, domain, run.explain)
            else:
                outcome = await self._look_up(query, draft, route, domain, text, run)
        return outcome

    async def _draft(self, query: Query, domain: Domain | None, read: ReadPhoto, run: Run) -> Draft:
        """Return the chain of thought (3.1.2); without a photo that the model sees, what to search for."""
        if not self.reasoner.drafts(query):
            fallback = self.fallback
            services = partial(fallback.chain_of_thought, query, domain, read) if fallback else None
            return await draft_unseen(self.reasoner, services, query, run)
        run.spare(Stage.QUERY_REWRITE)
        async for reader, may_fail, stage in run.attempts(Stage.DRAFT, self.reasoner, self.fallback):
            async with may_fail, stage as deadline:
                draft = await reader.chain_of_thought(query, domain, read, deadline)
        return draft

    async def _look_up(
        self, query: Query, draft: Draft, route: Route, domain: Domain | None, text: PhotoText, run: Run
    ) -> Outcome:
        """Verify: text toolchain. RAG: tools, visual and text toolchain. Both: fusion, RAG, verifier."""
        wanted = TEXT_ONLY if route is Route.VERIFY else await self._choose_tools(query, draft, domain, run)
        entity = named_by(query, draft)
        if Tool.IMAGE_SEARCH in wanted:
            entity = await self._see(query, draft, text, run) or entity
        pages: tuple[Evidence, ...] = ()
        if Tool.TEXT_SEARCH in wanted:
            pages = await self._read_up(query, draft, entity, run)
        ranked = await self._rerank(query, entity, pages, text, run)
        return await self._conclude(query, draft, Context(route, entity, text, ranked), domain, run)

    async def _route_domain(self, query: Query, read: Prefetch[PhotoText], run: Run) -> Domain | None:
        """3.1.1: the domain, whose advice and cases the chain of thought is given."""
        return (await photo.classify_domain(self.services, query, read.result, run)).domain

    def _choose_branch(self, draft: Draft, run: Run) -> Route:
        """3.2: direct, verify or RAG."""
        return self.router.choose(draft, self.thresholds, run.explain)

    async def _choose_tools(
        self, query: Query, draft: Draft, domain: Domain | None, run: Run
    ) -> frozenset[Tool]:
        """3.3: image search, text search, both or neither."""
        return await tool_router.choose_tools(self._steps(run), query, draft, domain, run)

    async def _see(self, query: Query, draft: Draft, text: PhotoText, run: Run) -> Entity | None:
        """3.4: extract the object, crop it, search crops and photo, select the entity that is there."""
        labels = await visual_tools.list_objects(self._steps(run), query, run)
        labels = await visual_tools.select_object(self._steps(run), query, labels, run)
        candidates = await visual_tools.search_regions(self.services, query, labels, run, self.retrieval)
        match = self._steps(run).match_entity
        return await identify(match, query, draft, candidates, text, run, self.thresholds)

    async def _read_up(
        self, query: Query, draft: Draft, entity: Entity | None, run: Run
    ) -> tuple[Evidence, ...]:
        """3.5: split the question, put the thing's name into the parts, search for all of them together."""
        parts = await self._split(query, draft, run)
        parts = await rephrasing.enhance(self._steps(run), query, parts, entity, run)
        queries = evidence.fused_queries(query, replace(draft, sub_queries=parts), entity)
        return await evidence.find_pages(self.services, queries, run)

    async def _split(self, query: Query, draft: Draft, run: Run) -> tuple[str, ...]:
        """3.5.1: the question's parts, each of which one search can answer."""
        return await rephrasing.split(self._steps(run), query, draft, run)

    async def _rerank(
        self, query: Query, entity: Entity | None, pages: tuple[Evidence, ...], text: PhotoText, run: Run
    ) -> tuple[Evidence, ...]:
        """3.6: the chunks of both searches, scored coarse and fine; the best of them are the context."""
        chunks = (*evidence.attribute_evidence(entity), *pages)[: self.retrieval.chunks_to_rerank]
        ranked = await self._score(SearchRequest(query.question, (), entity, query.photo), chunks, run)
        best_only = replace(self.retrieval, leading_facts=0, leading_chunks=0)
        return evidence.assemble([ranked], text, self.thresholds, best_only, run.explain)

    async def _score(
        self, request: SearchRequest, chunks: tuple[Evidence, ...], run: Run
    ) -> tuple[Evidence, ...]:
        """The chunks with the scores of both rerankers (eq. 2 and 3)."""
        return await evidence.rank_chunks(self.services, request, chunks, run)

    def _steps(self, run: Run) -> StepwiseReasoner:
        """Who takes the steps between draft and answer: not the model once the plan has no time for it."""
        return run.reasoner(self.reasoner, self.fallback)

    async def _conclude(
        self, query: Query, draft: Draft, context: Context, domain: Domain | None, run: Run
    ) -> Outcome:
        """3.7: the answer with its reasons, and the dual verifier; what that accepts need not cite."""
        services, cut_offs = self.services, self.thresholds
        reply, judge = await answer_from(self.reasoner, self.fallback, query, draft, context, run)
        verdict = await verify(services, judge, query, reply, context, run, cut_offs, judge_first=True)
        failures, explain = run.failures, run.explain
        return conclude(query.question, reply, verdict, context, domain, failures, cut_offs, True, explain)
