"""The default pipeline: a request's whole way, in order. Sections refer to the QA-Dragon paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from anyio.abc import TaskGroup

from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.budget.course import LOREGLASS, Course
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.pipelines.ablation import ALL_OF_LOREGLASS, LoreglassAblation, Router
from gateway.reasoning.port import Reasoner
from gateway.stages import evidence, look
from gateway.stages.answering import answer_from
from gateway.stages.conclusion import Outcome, conclude, direct_answer
from gateway.stages.drafting import first_draft
from gateway.stages.identify import identify, search_crops
from gateway.stages.reading import begin_reading
from gateway.stages.routing import SearchRouter
from gateway.stages.run import Ahead, Run, side_by_side
from gateway.stages.verification import AskJudge
from gateway.state import Ask, Draft, Entity, Evidence, Findings, PhotoText, Tool
from gateway.thresholds import Depths, Thresholds


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What is worked out beside the draft."""

    photo_text: Ahead[PhotoText]
    domain: Ahead[Domain | None]
    candidates: Ahead[tuple[Entity, ...]]


@dataclass(frozen=True, slots=True)
class LoreglassPipeline:
    """QA-Dragon's stages with fewer model hops. `resort` reads when the reasoner's model cannot."""

    services: Services
    reasoner: Reasoner
    thresholds: Thresholds
    depths: Depths
    router: Router = field(default_factory=SearchRouter.load)
    ask_judge: AskJudge = AskJudge.IF_BORDERLINE
    resort: Reasoner | None = None
    having: LoreglassAblation = ALL_OF_LOREGLASS
    name: str = "loreglass"
    course: Course = LOREGLASS

    def using(self, thresholds: Thresholds) -> "LoreglassPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, ask: Ask, run: Run) -> Outcome:
        """Look and draft; choose a route; then identify, search, rank, answer and verify as it asks."""
        async with side_by_side() as group:
            ahead = self._look_ahead(group, ask, run)
            resort = self.resort.draft if self.resort else None
            draft = await first_draft(run, self.reasoner.draft, resort, ask, ahead.photo_text.result)
            route = self.router.choose(ask, draft, None, self.thresholds, run.explain)
            if route is Route.DIRECT:
                ahead.candidates.cancel()
                text, domain = await ahead.photo_text.result(), await ahead.domain.result()
                outcome = direct_answer(draft, text, domain, run.explain)
            else:
                outcome = await self._look_up(ask, draft, route, ahead, run)
        return outcome

    async def _look_up(self, ask: Ask, draft: Draft, route: Route, ahead: FirstLook, run: Run) -> Outcome:
        """The verify and rag routes: name the thing, gather evidence, answer from it, check the answer."""
        draft = self.having.wanted_by(draft)
        entity = await self._identify(ask, draft, ahead, run)
        findings = await self._find(ask, draft, route, entity, await ahead.photo_text.result(), run)
        reply, judge = await answer_from(self.reasoner, self.resort, ask, draft, findings, run)
        asked = self.ask_judge.of_quotes if run.resorted(Stage.ANSWER) else self.ask_judge
        services, cut_offs = self.services, self.thresholds
        verdict = await self.having.verify(services, judge, ask, reply, findings, run, cut_offs, asked)
        domain = await ahead.domain.result()
        failures, explain = run.failures.values(), run.explain
        return conclude(reply, verdict, findings, domain, failures, cut_offs, explain=explain)

    def _look_ahead(self, group: TaskGroup, ask: Ask, run: Run) -> FirstLook:
        """OCR, domain routing and whole-photo search start at once, beside the draft (3.1, 3.4.3).

        The search is speculation: on a busy node it waits until the route wants it.
        """
        photo_text = begin_reading(group, self.services, ask, run, ever=self.having.ocr)
        services, classify, read = self.services, look.classify_domain, photo_text.result
        domain = run.ahead(group, Stage.DOMAIN_ROUTER, classify, services, ask, read, otherwise=None)
        candidates = run.ahead(
            group,
            Stage.IMAGE_SEARCH,
            look.search_whole_photo,
            services,
            ask,
            self.depths.image_hits,
            otherwise=look.NO_CANDIDATES,
            now=run.plan.speculate and self.having.image_search,
        )
        return FirstLook(photo_text, domain, candidates)

    async def _identify(self, ask: Ask, draft: Draft, ahead: FirstLook, run: Run) -> Entity | None:
        """The whole photo first, crops if it was not decisive; the full photo stays the fallback (3.4)."""
        if Tool.IMAGE_SEARCH not in draft.tools:
            ahead.candidates.cancel()
        whole = await ahead.candidates.result()
        crops = await search_crops(self.services, ask, draft, whole, run, self.thresholds, self.depths)
        photo_text = await ahead.photo_text.result()
        select, candidates = self.reasoner.select_entity, (*whole, *crops)
        return await identify(select, ask, draft, candidates, photo_text, run, self.thresholds)

    async def _find(
        self, ask: Ask, draft: Draft, route: Route, entity: Entity | None, text: PhotoText, run: Run
    ) -> Findings:
        """What is known of the thing and what pages say, best first; a second hop if one opens (3.5, 3.6)."""
        known = tuple(evidence.entity_evidence(entity)) if entity else ()
        queries = self.having.fused_queries(ask, draft, entity)
        inquiry = evidence.Inquiry(ask.question, queries, entity, ask.photo)
        ranked = await self.having.search_and_rank(self.services, inquiry, known, run)
        findings = Findings(route, entity, text, self._assemble([ranked], text, run))
        hops = await self._second_hop(ask, draft, findings, run) if self.having.second_hop else ()
        if not hops:
            return findings
        further = await self.having.search_and_rank(
            self.services, evidence.Inquiry(hops[0], hops), (), run, evidence.SECOND_HOP
        )
        return replace(findings, evidence=self._assemble([ranked, further], text, run))

    async def _second_hop(self, ask: Ask, draft: Draft, findings: Findings, run: Run) -> tuple[str, ...]:
        """What only the evidence in hand makes searchable; usually nothing."""
        if not run.plan.bridge:
            await run.skip(Stage.BRIDGE)
            return evidence.NO_QUERIES
        return await run.optional(
            Stage.BRIDGE, self.reasoner.bridge, ask, draft, findings, otherwise=evidence.NO_QUERIES
        )

    def _assemble(
        self, searches: Sequence[Sequence[Evidence]], photo_text: PhotoText, run: Run
    ) -> tuple[Evidence, ...]:
        return evidence.assemble(searches, photo_text, self.thresholds, self.depths, run.explain)
