"""QA-Dragon as published: the paper's own order and every module of its section 3, kept as the baseline.

Where the paper and its released code differ, this follows the paper: the search router is a classifier, not
lists of words; every stage reads the conversation; a thing that cannot be cropped is searched by the full
photo; a sub-query that is missing costs that sub-query, not the search. Beyond the paper stands what the
platform promises: budgets, stages that may fail alone, OCR beside the first steps, checked citations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

from contracts.answer import Route, Verification
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.llm.asking import JUDGE, REASONED_JUDGE
from gateway.pipelines.qa_dragon.model import EVERY_TOOL, StepwiseVlmReasoner, choose_tools
from gateway.planning.latencies import Work
from gateway.planning.plan import StageGraph
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.reasoning.port import ReadPhoto
from gateway.state import Context, Draft, Entity, Evidence, PhotoText, Query, Reply, Tool, Verdict
from gateway.steps import evidence, photo
from gateway.steps.answering import answer_from, draft_from_question
from gateway.steps.conclusion import Outcome, conclude, direct_answer
from gateway.steps.photo import find_crops, identify, named_by
from gateway.steps.routing import SearchRouter
from gateway.steps.verification import verify
from gateway.thresholds import RetrievalLimits, Thresholds

MODULES = frozenset(
    {
        *("domain-router", "search-router", "tool-router", "query-splitting", "fusion-search", "reranking"),
        *("text-search", "verifier", "brief-verdict"),
    }
)
"""Modules that an experiment may leave out: the ablation studies of the paper (Tables 2 and 4, Figure 3).

Without `domain-router`: the generic chain of thought; `search-router`: every question takes the RAG branch;
`tool-router`: both searches; `query-splitting`: the question is the only query; `fusion-search`: the thing
that image search found stays out of the text queries; `reranking`: evidence in search order;
`text-search`: image search alone, the paper's single-source task, where it verifies drafts, too;
`verifier`: no answer is refused; `brief-verdict`: the verifier gives its reason before its verdict, so that
its tokens are those of the released code (`gateway.steps.verification`).
"""
TEXT_ONLY, IMAGE_ONLY = frozenset({Tool.TEXT_SEARCH}), frozenset({Tool.IMAGE_SEARCH})

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
    needs_model=True,
)


@dataclass(frozen=True, slots=True)
class QaDragonPipeline:
    """One model call a step, each step after the one whose result it needs."""

    services: Services
    reasoner: StepwiseVlmReasoner
    thresholds: Thresholds
    retrieval: RetrievalLimits
    router: SearchRouter = field(default_factory=SearchRouter)
    name: str = "qa-dragon"
    stage_graph: StageGraph = STAGE_GRAPH
    missing: frozenset[str] = frozenset()
    modules: ClassVar[frozenset[str]] = MODULES

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Pre-answer (3.1), search router (3.2), one of Table 1's branches, post-answer (3.7)."""
        async with prefetching() as group:
            read = run.prefetch(group, lambda: photo.read_text(self.services, query, run), PhotoText())
            domain = None  # 3.1.1: its advice and cases go into the chain of thought
            if "domain-router" not in self.missing:
                domain = (await photo.classify_domain(self.services, query, read.result, run)).domain
            draft = await self._draft(query, domain, read.result, run)
            run.explain.draft(draft.answer, draft.confidence)
            route = Route.RAG
            if "search-router" not in self.missing:  # 3.2: direct, verify or RAG
                route = self.router.choose(draft, self.thresholds, run.explain)
            text = await read.result()
            if route is Route.DIRECT:
                outcome = direct_answer(draft, text, domain, run.explain)
            else:
                outcome = await self._look_up(query, draft, route, domain, text, run)
        return outcome

    async def _draft(self, query: Query, domain: Domain | None, read: ReadPhoto, run: Run) -> Draft:
        """Return the chain of thought (3.1.2); the question to search for if there is none to be had."""
        if not self.reasoner.drafts(query):
            return await draft_from_question(self.reasoner, None, query, run)
        run.spare(Stage.QUERY_REWRITE)
        draft = Draft.of_question()
        async with run.optional(Stage.DRAFT), run.stage(Stage.DRAFT) as deadline:
            draft = await self.reasoner.chain_of_thought(query, domain, read, deadline)
        return draft

    async def _look_up(
        self, query: Query, draft: Draft, route: Route, domain: Domain | None, text: PhotoText, run: Run
    ) -> Outcome:
        """Verify: text toolchain. RAG: tools, visual and text toolchain. Both: fusion, RAG, verifier."""
        tools = EVERY_TOOL
        if route is Route.VERIFY:
            tools = IMAGE_ONLY if "text-search" in self.missing else TEXT_ONLY
        elif "tool-router" not in self.missing:  # 3.3: image search, text search, both or neither
            tools = await choose_tools(self.reasoner, query, draft, domain, run)
        entity = named_by(query, draft)
        if Tool.IMAGE_SEARCH in tools:
            entity = await self._see(query, draft, text, run) or entity
        pages: tuple[Evidence, ...] = ()
        if Tool.TEXT_SEARCH in tools:
            pages = await self._read_up(query, draft, entity, run)
        ranked = await self._rerank(query, entity, pages, text, run)
        return await self._conclude(query, draft, Context(route, entity, text, ranked), domain, run)

    async def _see(self, query: Query, draft: Draft, text: PhotoText, run: Run) -> Entity | None:
        """3.4: extract the object, crop it, search crops and photo, select the entity that is there."""
        labels = await self._select_object(query, await self._list_objects(query, run), run)
        candidates = await self._search_regions(query, labels, run)
        match = self.reasoner.match_entity
        return await identify(match, query, draft, candidates, text, run, self.thresholds)

    async def _list_objects(self, query: Query, run: Run) -> Sequence[str]:
        """Labels of what is there (3.4.1); none when the plan has no time for crops, which they are for."""
        if not run.plan.crops:
            await run.skip(Stage.OBJECT_LIST)
            return ()
        labels: Sequence[str] = ()
        async with run.optional(Stage.OBJECT_LIST), run.stage(Stage.OBJECT_LIST) as deadline:
            labels = await self.reasoner.list_objects(query, deadline)
        run.explain.note(Stage.OBJECT_LIST, labels)
        return labels

    async def _select_object(self, query: Query, labels: Sequence[str], run: Run) -> Sequence[str]:
        """The label of the thing that the question is about; all of them if none was selected (3.4.1)."""
        if not labels:
            return ()
        selected = None
        async with run.optional(Stage.OBJECT_SELECTION), run.stage(Stage.OBJECT_SELECTION) as deadline:
            selected = await self.reasoner.select_object(query, labels, deadline)
        run.explain.note(Stage.OBJECT_SELECTION, selected or "none")
        return labels if selected is None else (selected,)

    async def _search_regions(self, query: Query, labels: Sequence[str], run: Run) -> tuple[Entity, ...]:
        """Candidates from the regions that bear the labels, and from the full photo (3.4.2, 3.4.3).

        The paper searches the regions alone; the full photo costs one more picture in the same call, and is
        what remains when no region is found.
        """
        if query.photo is None:
            return ()
        crops = await find_crops(self.services, query.photo, labels, run) if labels else ()
        pictures = (*(crop.jpeg for crop in crops), query.photo.jpeg)
        size, entities = Work(len(pictures)), tuple[Entity, ...]()
        async with run.optional(Stage.IMAGE_SEARCH), run.stage(Stage.IMAGE_SEARCH, size) as deadline:
            entities = await self.services.search_photos(
                pictures, self.retrieval.image_hits, deadline, [crop.place for crop in crops]
            )
        run.explain.add_results(Stage.IMAGE_SEARCH, entities)
        return entities

    async def _read_up(
        self, query: Query, draft: Draft, entity: Entity | None, run: Run
    ) -> tuple[Evidence, ...]:
        """3.5: split the question, put the thing's name into the parts, search for all of them together."""
        if "text-search" in self.missing:
            return ()
        if "fusion-search" in self.missing:
            entity = named_by(query, draft)
        parts = await self._enhance(query, await self._split(query, draft, run), entity, run)
        queries = evidence.fused_queries(query, replace(draft, sub_queries=parts), entity)
        return await evidence.find_pages(self.services, queries, run)

    async def _split(self, query: Query, draft: Draft, run: Run) -> tuple[str, ...]:
        """3.5.1: the parts that one search each can answer; the question itself if there are none."""
        if "query-splitting" in self.missing:
            return (query.question,)
        if run.plan.sub_queries <= 1:
            await run.skip(Stage.QUERY_SPLIT)
            return (query.question,)
        queries: tuple[str, ...] = ()
        async with run.optional(Stage.QUERY_SPLIT), run.stage(Stage.QUERY_SPLIT) as deadline:
            queries = await self.reasoner.split_query(query, draft, deadline)
        run.explain.note(Stage.QUERY_SPLIT, queries)
        return queries or (query.question,)

    async def _enhance(
        self, query: Query, queries: tuple[str, ...], entity: Entity | None, run: Run
    ) -> tuple[str, ...]:
        """3.5.1: the same with the thing's name in place of "this"; as they were when that cannot be had."""
        if query.photo is None:
            run.spare(Stage.QUERY_ENHANCEMENT)
            return queries  # there is no thing whose name could go in
        enhanced: tuple[str, ...] = ()
        async with run.optional(Stage.QUERY_ENHANCEMENT), run.stage(Stage.QUERY_ENHANCEMENT) as deadline:
            enhanced = await self.reasoner.enhance_queries(query, queries, entity, deadline)
        run.explain.note(Stage.QUERY_ENHANCEMENT, enhanced)
        return enhanced or queries

    async def _rerank(
        self, query: Query, entity: Entity | None, pages: tuple[Evidence, ...], text: PhotoText, run: Run
    ) -> tuple[Evidence, ...]:
        """3.6: the chunks of both searches, scored coarse and fine; the best of them are the context."""
        chunks = (*evidence.attribute_evidence(entity), *pages)[: self.retrieval.chunks_to_rerank]
        if "reranking" in self.missing:
            ranked = evidence.in_search_order(chunks)
        else:
            about = (entity, query.photo)
            ranked = await evidence.rank_chunks(self.services, query.question, chunks, run, *about)
        best_only = replace(self.retrieval, leading_facts=0, leading_chunks=0)
        return evidence.assemble(ranked, text, self.thresholds, best_only, run.explain)

    async def _conclude(
        self, query: Query, draft: Draft, context: Context, domain: Domain | None, run: Run
    ) -> Outcome:
        """3.7: the answer with its reasons, and the dual verifier; what that accepts need not cite.

        A draft that is to be verified (Table 1, Search Verify) is verified as it is, not written anew.
        """
        cut_offs, failures, explain = self.thresholds, run.failures, run.explain
        if context.route is Route.VERIFY and draft.answer:
            run.spare(Stage.ANSWER)
            explain.evidence(context.evidence)
            explain.set_answer(draft.answer)
            explain.signal("answer_confidence", draft.confidence)
            tokens = draft.token_probabilities
            reply = Reply(draft.answer, draft.confidence, token_probabilities=tokens)
        else:
            reply = await answer_from(self.reasoner, None, query, draft, context, run)
        verdict: Verdict | None = Verdict(1.0, verification=Verification.NONE)
        if "verifier" not in self.missing:
            name = REASONED_JUDGE if "brief-verdict" in self.missing else JUDGE
            judge = partial(self.reasoner.judge, name=name)
            verdict = await verify(self.services, judge, query, reply, context, run, cut_offs)
        return conclude(query.question, reply, verdict, context, domain, failures, cut_offs, True, explain)
