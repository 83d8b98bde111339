"""The default pipeline: a request's whole way, in order. Sections refer to the QA-Dragon paper."""

from asyncio import TaskGroup
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from contracts.answer import Reason, Route
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.planning.plan import StageGraph
from gateway.planning.prefetch import Prefetch, prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.reasoning.port import Reasoner
from gateway.state import (
    Context,
    DomainGuess,
    Draft,
    Entity,
    Evidence,
    PhotoText,
    Query,
    Reply,
    Tool,
    reason_of,
)
from gateway.steps import evidence, photo
from gateway.steps.answering import DraftByServices, answer_from, draft_from_question, read_instead
from gateway.steps.conclusion import Outcome, conclude, direct_answer, refusal
from gateway.steps.memory import recollect
from gateway.steps.photo import find_crops, identify, named_by, search_pictures
from gateway.steps.routing import SearchRouter
from gateway.steps.verification import verify
from gateway.thresholds import RetrievalLimits, Thresholds

MODULES = frozenset(
    {
        *("crops", "image-search", "ocr", "fusion-search", "reranking", "verifier"),
        *("search-router", "judge", "text-search", "domain-advice", "web-search"),
    }
)
"""Modules that an experiment may leave out. Their stages do not run and are not in `degraded`.

`crops`: the whole photo alone is searched; `image-search`: not even that; `ocr`: no stage is given the
photo's print; `fusion-search`: what image search found stays out of the text queries; `reranking`: evidence
in search order; `verifier`: no check of the answer but that of its citations; `search-router`: every question
is searched for; `judge`: as it is, for none is asked (`qa-dragon` has one); `text-search`: image search
alone; `domain-advice`: the draft is given none; `web-search`: own pages only.
"""

STAGE_GRAPH = StageGraph(
    "loreglass",
    (
        (Stage.OCR, Stage.DOMAIN_ROUTER, Stage.DRAFT, Stage.QUERY_REWRITE),
        (Stage.IMAGE_SEARCH,),
        (Stage.CROPPER,),
        (Stage.CROP_SEARCH,),
        (Stage.SELECT_ENTITY,),
        (Stage.TEXT_SEARCH,),
        (Stage.RERANKER,),
        (Stage.ANSWER,),
        (Stage.VERIFIER,),
        (Stage.SESSION,),
    ),
    speculative=frozenset({Stage.IMAGE_SEARCH}),
    by_rule=frozenset({Stage.SELECT_ENTITY}),
)

_MODEL_FAILED = (Reason.MODEL_UNSURE, Reason.LOW_CONFIDENCE, Reason.UNSUPPORTED)
"""Refusals after which the fallback reads the evidence: the model did not know, or failed the check."""
_NOT_HELD = (*_MODEL_FAILED, Reason.NO_EVIDENCE)
"""Refusals after which the web is searched, where there is one: own photos and pages hold no answer."""


@dataclass(frozen=True, slots=True)
class Prefetched:
    """Results that are worked out beside the draft."""

    photo_text: Prefetch[PhotoText]
    domain: Prefetch[DomainGuess]
    candidates: Prefetch[tuple[Entity, ...]]


@dataclass(frozen=True, slots=True)
class LoreglassPipeline:
    """QA-Dragon's stages with fewer model hops. `fallback` reads when the reasoner's model cannot."""

    services: Services
    reasoner: Reasoner
    thresholds: Thresholds
    retrieval: RetrievalLimits
    router: SearchRouter = field(default_factory=SearchRouter)
    fallback: Reasoner | None = None
    name: str = "loreglass"
    stage_graph: StageGraph = STAGE_GRAPH
    missing: frozenset[str] = frozenset()
    modules: ClassVar[frozenset[str]] = MODULES

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Look and draft; choose a route; then identify, search, rank, answer and verify as it asks.

        Questions about what was seen before are answered from the asker's memory, if they consent to one.
        """
        memories = await recollect(query, run)
        if memories is not None:
            return await self._answer_from_memory(query, memories, run)
        async with prefetching() as group:
            prefetched = self._prefetch(group, query, run)
            draft = await self._draft(query, prefetched, run)
            run.explain.draft(draft.answer, draft.confidence)
            route = Route.RAG
            if "search-router" not in self.missing:  # direct, verify or rag (3.2)
                route = self.router.choose(draft, self.thresholds, run.explain)
            if route is Route.DIRECT:
                prefetched.candidates.cancel()
                text, guess = await prefetched.photo_text.result(), await prefetched.domain.result()
                outcome = direct_answer(draft, text, guess.domain, run.explain)
            else:
                outcome = await self._look_up(query, draft, route, prefetched, run)
        return outcome

    async def _answer_from_memory(self, query: Query, memories: tuple[Evidence, ...], run: Run) -> Outcome:
        if not memories:
            failure = run.failures.get(Stage.MEMORY)
            return refusal(reason_of(failure) if failure else Reason.NOT_REMEMBERED, Route.RAG)
        run.spare(Stage.RERANKER)  # and with it each stage before the answer
        context, draft = Context(Route.RAG, evidence=memories), Draft.of_question()
        query = replace(query, photo=None)
        reply = await answer_from(self.reasoner, self.fallback, query, draft, context, run)
        return await self._check(query, reply, context, None, run)

    async def _draft(self, query: Query, prefetched: Prefetched, run: Run) -> Draft:
        """Return the first look at the photo (3.1); without a photo, what to search pages for.

        A model that sees no photos leaves the look to the services.
        """

        def draft_by(reasoner: Reasoner, domain: Domain | None = None) -> DraftByServices:
            return partial(reasoner.draft, query, domain, prefetched.photo_text.result)

        by_fallback = draft_by(self.fallback) if self.fallback else None
        if not self.reasoner.drafts(query):
            return await draft_from_question(self.reasoner, by_fallback, query, run)
        run.spare(Stage.QUERY_REWRITE)
        domain = None  # its advice (3.1.2) is given if it is known by now
        if "domain-advice" not in self.missing:
            domain = await photo.domain_in_time(self.services, query, prefetched.domain)
        return await run.with_fallback(Stage.DRAFT, draft_by(self.reasoner, domain), by_fallback)

    async def _look_up(
        self, query: Query, draft: Draft, route: Route, prefetched: Prefetched, run: Run
    ) -> Outcome:
        """The verify and rag routes: name the thing, gather evidence, answer from it, check the answer.

        Where own photos and pages hold no answer, the web is searched, if there is a web search.
        """
        if "image-search" in self.missing:
            draft = replace(draft, tools=draft.tools - {Tool.IMAGE_SEARCH})
        entity = await self._identify(query, draft, prefetched, run)
        context = await self._find(query, draft, route, entity, await prefetched.photo_text.result(), run)
        outcome = await self._answer_from(query, draft, context, prefetched.domain, run)
        if (
            outcome.reason not in _NOT_HELD
            or self.services.web_search is None
            or "web-search" in self.missing
        ):
            return outcome
        run.keep(outcome)
        further = await self._search_web(query, draft, context, run)
        if further is None:
            return outcome
        by_web = await self._answer_from(query, draft, further, prefetched.domain, run)
        return by_web if by_web.reason is Reason.ANSWERED or not context.evidence else outcome

    async def _answer_from(
        self, query: Query, draft: Draft, context: Context, guess: Prefetch[DomainGuess], run: Run
    ) -> Outcome:
        """Answer from the evidence, and check the answer.

        Where the model does not know, or its answer fails the check, the fallback reads the same evidence.
        """
        fallbacks = run.fallbacks(Stage.ANSWER)
        reply = await answer_from(self.reasoner, self.fallback, query, draft, context, run)
        domain = (await guess.result()).domain
        outcome = await self._check(query, reply, context, domain, run)
        fell_back = run.fallbacks(Stage.ANSWER) > fallbacks
        if self.fallback is None or fell_back or outcome.reason not in _MODEL_FAILED:
            return outcome
        run.keep(outcome)
        reading = await read_instead(self.fallback, query, draft, context, self.thresholds, run)
        return await self._check(query, reading, context, domain, run) if reading else outcome

    async def _check(
        self, query: Query, reply: Reply, context: Context, domain: Domain | None, run: Run
    ) -> Outcome:
        """Return the reply as the answer if it passes the checks, else a refusal.

        The evidence alone verifies it: token probabilities differ from model to model.
        """
        verdict, thresholds = None, self.thresholds
        if "verifier" not in self.missing:
            by_evidence = replace(reply, token_probabilities=None)
            verdict = await verify(self.services, None, query, by_evidence, context, run, thresholds)
        failures, explain = run.failures, run.explain
        return conclude(
            query.question, reply, verdict, context, domain, failures, thresholds, explain=explain
        )

    def _prefetch(self, group: TaskGroup, query: Query, run: Run) -> Prefetched:
        """OCR, domain routing and whole-photo search start at once, beside the draft (3.1, 3.4.3).

        The search is speculation: on a busy node it waits until the route wants it.
        """
        services, missing, hits = self.services, self.missing, self.retrieval.image_hits
        photo_text = run.prefetch(
            group, lambda: photo.read_text(services, query, run), PhotoText(), now="ocr" not in missing
        )
        if "ocr" in missing:
            photo_text.cancel()
        read = photo_text.result
        domain = run.prefetch(group, lambda: photo.classify_domain(services, query, read, run), DomainGuess())
        speculate = run.plan.speculate and "image-search" not in missing
        things = photo.begin_image_search(group, services, query, run, hits, now=speculate)
        if "image-search" in missing:
            things.cancel()
        return Prefetched(photo_text, domain, things)

    async def _identify(self, query: Query, draft: Draft, prefetched: Prefetched, run: Run) -> Entity | None:
        """The whole photo first, crops if it was not decisive; the full photo stays the fallback (3.4)."""
        seeks = Tool.IMAGE_SEARCH in draft.tools
        if not seeks:
            prefetched.candidates.cancel()
        whole, crops = await prefetched.candidates.result(), tuple[Entity, ...]()
        is_decisive = any(each.probability >= self.thresholds.decisive for each in whole)
        if seeks and query.photo is not None and "crops" not in self.missing and not is_decisive:
            labels = [draft.object_label] if draft.object_label else []
            regions = await find_crops(self.services, query.photo, labels, run)
            crops = await search_pictures(self.services, regions, self.retrieval.image_hits, run)
        photo_text = await prefetched.photo_text.result()
        select, candidates = self.reasoner.select_entity, (*whole, *crops)
        return await identify(select, query, draft, candidates, photo_text, run, self.thresholds)

    async def _find(
        self, query: Query, draft: Draft, route: Route, entity: Entity | None, text: PhotoText, run: Run
    ) -> Context:
        """Return facts of the thing and pages, best first (3.5, 3.6)."""
        facts = tuple(evidence.entity_evidence(entity)) if entity else ()
        queries, pages = self._fuse(query, draft, entity), tuple[Evidence, ...]()
        if "text-search" not in self.missing:
            pages = await evidence.find_pages(self.services, queries, run, query.photo)
        return await self._rank(query, Context(route, entity, text), (*facts, *pages), run)

    async def _search_web(self, query: Query, draft: Draft, context: Context, run: Run) -> Context | None:
        """Return the context with evidence of the open web instead; None if there is none."""
        queries = self._fuse(query, draft, context.entity)
        pages = await evidence.search_web(self.services, queries, run)
        return await self._rank(query, context, pages, run) if pages else None

    async def _rank(self, query: Query, context: Context, pieces: Sequence[Evidence], run: Run) -> Context:
        """Return the context with the best of the pieces as its evidence (3.6)."""
        if "reranking" in self.missing:
            ranked = evidence.in_search_order(pieces[: run.plan.chunks])
        else:
            about = (context.entity, query.photo)
            ranked = await evidence.rank_chunks(self.services, query.question, pieces, run, *about)
        text, thresholds = context.photo_text, self.thresholds
        best = evidence.assemble(ranked, text, thresholds, self.retrieval, run.explain)
        return replace(context, evidence=best)

    def _fuse(self, query: Query, draft: Draft, entity: Entity | None) -> tuple[str, ...]:
        """Return what to search pages for, with the name of the thing in view (fusion search, 3.5.2)."""
        if "fusion-search" in self.missing:
            entity = named_by(query, draft)
        return evidence.fused_queries(query, draft, entity)
