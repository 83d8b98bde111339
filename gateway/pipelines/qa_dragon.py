"""QA-Dragon as published: the paper's own order and every module of its section 3, kept as the baseline.

Where the paper and its released code differ, this follows the paper: the search router is a classifier, not
lists of words; every stage reads the conversation; a thing that cannot be cropped is searched by the full
photo; a sub-query that is missing costs that sub-query, not the search. Beyond the paper stands what the
platform promises: budgets, stages that may fail alone, OCR beside the first steps, checked citations.
"""

from dataclasses import dataclass, field, replace

from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.budget.course import QA_DRAGON, Course
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.pipelines.ablation import Ablation
from gateway.reasoning.port import StepwiseReasoner
from gateway.stages import evidence, look, rephrasing, sight, tools
from gateway.stages.answering import answer_from
from gateway.stages.conclusion import Outcome, conclude, direct_answer
from gateway.stages.drafting import first_draft
from gateway.stages.identify import identify, named_by
from gateway.stages.routing import SearchRouter
from gateway.stages.run import Ahead, Run, side_by_side
from gateway.stages.verification import AskJudge, verify
from gateway.state import Ask, Draft, Entity, Evidence, Findings, PhotoText, Tool
from gateway.thresholds import Depths, Thresholds

TEXT_ONLY = frozenset({Tool.TEXT_SEARCH})


@dataclass(frozen=True, slots=True)
class QaDragonPipeline:
    """One model call a step, each step after the one whose result it needs."""

    services: Services
    reasoner: StepwiseReasoner
    thresholds: Thresholds
    depths: Depths
    having: Ablation = field(default_factory=Ablation)
    router: SearchRouter = field(default_factory=SearchRouter.load)
    resort: StepwiseReasoner | None = None
    course: Course = QA_DRAGON

    @property
    def name(self) -> str:
        """What callers put into `pipeline`."""
        return self.having.name

    def using(self, thresholds: Thresholds) -> "QaDragonPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """Pre-answer (3.1), search router (3.2), one of Table 1's branches, post-answer (3.7)."""
        async with side_by_side() as group:
            read = run.ahead(group, Stage.OCR, look.read_text, self.services, ask, otherwise=PhotoText())
            domain = await self._route_domain(ask, read, run)
            reason = self.reasoner.chain_of_thought
            resort = self.resort.chain_of_thought if self.resort else None
            draft = await first_draft(run, reason, resort, ask, domain, read.result)
            route = self._choose_branch(ask, draft, domain, run)
            text = await read.result()
            if route is Route.DIRECT:
                outcome = direct_answer(draft, text, domain, run.explain)
            else:
                outcome = await self._look_up(ask, draft, route, domain, text, run)
        return outcome

    async def _look_up(
        self, ask: Ask, draft: Draft, route: Route, domain: Domain | None, text: PhotoText, run: Run
    ) -> Outcome:
        """Verify: text toolchain. RAG: tools, visual and text toolchain. Both: fusion, RAG, verifier."""
        wanted = TEXT_ONLY if route is Route.VERIFY else await self._choose_tools(ask, draft, domain, run)
        entity = named_by(ask, draft)
        if Tool.IMAGE_SEARCH in wanted:
            entity = await self._see(ask, draft, text, run) or entity
        pages = evidence.NO_EVIDENCE
        if Tool.TEXT_SEARCH in wanted:
            pages = await self._read_up(ask, draft, entity, run)
        context = await self._rerank(ask, entity, pages, text, run)
        return await self._conclude(ask, draft, Findings(route, entity, text, context), domain, run)

    async def _route_domain(self, ask: Ask, read: Ahead[PhotoText], run: Run) -> Domain | None:
        """3.1.1: the domain, whose advice and cases the chain of thought is given."""
        if not self.having.domain_router:
            return None
        classify, services = look.classify_domain, self.services
        return await run.optional(Stage.DOMAIN_ROUTER, classify, services, ask, read.result, otherwise=None)

    def _choose_branch(self, ask: Ask, draft: Draft, domain: Domain | None, run: Run) -> Route:
        """3.2: direct, verify or RAG."""
        routed = self.having.search_router
        return self.router.choose(ask, draft, domain, self.thresholds, run.explain) if routed else Route.RAG

    async def _choose_tools(self, ask: Ask, draft: Draft, domain: Domain | None, run: Run) -> frozenset[Tool]:
        """3.3: image search, text search, both or neither."""
        if not self.having.tool_router:
            return tools.EVERY_TOOL
        return await tools.choose_tools(self._steps(run), ask, draft, domain, run)

    async def _see(self, ask: Ask, draft: Draft, text: PhotoText, run: Run) -> Entity | None:
        """3.4: extract the object, crop it, search crops and photo, select the entity that is there."""
        labels = await sight.list_objects(self._steps(run), ask, run)
        labels = await sight.select_object(self._steps(run), ask, labels, run)
        candidates = await sight.search_regions(self.services, ask, labels, run, self.depths)
        match = self._steps(run).match_entity
        return await identify(match, ask, draft, candidates, text, run, self.thresholds)

    async def _read_up(self, ask: Ask, draft: Draft, entity: Entity | None, run: Run) -> tuple[Evidence, ...]:
        """3.5: split the question, put the thing's name into the parts, search for all of them together."""
        fused = entity if self.having.fusion_search else named_by(ask, draft)
        parts: tuple[str, ...] = (ask.question,)
        if self.having.query_splitting:
            parts = await rephrasing.split(self._steps(run), ask, draft, run)
        parts = await rephrasing.enhance(self._steps(run), ask, parts, fused, run)
        queries = evidence.fused_queries(ask, replace(draft, sub_queries=parts), fused)
        return await evidence.find_pages(self.services, queries, run)

    async def _rerank(
        self, ask: Ask, entity: Entity | None, pages: tuple[Evidence, ...], text: PhotoText, run: Run
    ) -> tuple[Evidence, ...]:
        """3.6: the chunks of both searches, scored coarse and fine; the best of them are the context."""
        chunks = (*evidence.attribute_evidence(entity), *pages)[: self.depths.chunks_to_rerank]
        ranked = evidence.in_search_order(chunks)
        if self.having.reranking:
            inquiry = evidence.Inquiry(ask.question, (), entity, ask.photo)
            ranked = await evidence.rank_chunks(self.services, inquiry, chunks, run)
        best_only = replace(self.depths, leading_facts=0, leading_chunks=0)
        return evidence.assemble([ranked], text, self.thresholds, best_only, run.explain)

    def _steps(self, run: Run) -> StepwiseReasoner:
        """Who takes the steps between draft and answer: not the model once the plan has no time for it."""
        return self.resort if self.resort and not run.plan.model else self.reasoner

    async def _conclude(
        self, ask: Ask, draft: Draft, findings: Findings, domain: Domain | None, run: Run
    ) -> Outcome:
        """3.7: the answer with its reasons, and the dual verifier; what that accepts need not cite."""
        services, cut_offs = self.services, self.thresholds
        reply, judge = await answer_from(self.reasoner, self.resort, ask, draft, findings, run)
        verdict = await verify(services, judge, ask, reply, findings, run, cut_offs, AskJudge.ALWAYS)
        failures, explain = run.failures.values(), run.explain
        return conclude(reply, verdict, findings, domain, failures, cut_offs, True, explain)
