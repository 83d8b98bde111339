"""`wiki-prf`: processing, retrieval and filtering for knowledge-based visual questions (Wiki-PRF).

What differs from the paper, and why: grounding is the cropper service's, which finds labelled regions here,
not boxes that a language model writes; a caption is searched among pictures by the image search's CLIP, not
by EVA-CLIP, and among texts where that has no text side (as in the pocket profile) or finds nothing; an
article is what is known of a thing and the passages that its name finds (the corpus is passages), a section
one of their chunks, similarity the reranker service's; the model was not trained for these formats, so that
plans and filtered knowledge are read leniently, and done without where nothing can be read. The answer is
given as it is said: nothing verifies it.
"""

from dataclasses import dataclass, replace

from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.wiki_prf import photo_tools
from gateway.pipelines.wiki_prf.port import Gathered, PhotoTool, ToolCall, ToolPlan, WikiPrfReasoner
from gateway.planning.latencies import Work
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stage_graph import StageGraph
from gateway.planning.stages import Stage
from gateway.reasoning.photo_context import PhotoContext
from gateway.state import Context, Evidence, PhotoText, Query, Reply
from gateway.steps import evidence
from gateway.steps.conclusion import Outcome, answered, out_of_time
from gateway.steps.identify import fuse
from gateway.steps.photo import begin_photo_context
from gateway.thresholds import Thresholds

EVIDENCE_CHARS, KNOWLEDGE_TOKENS = 10_000, 200


STAGE_GRAPH = StageGraph(
    "wiki-prf",
    (
        (Stage.IMAGE_SEARCH, Stage.TOOL_PLAN),
        (Stage.CAPTION,),
        (Stage.CROPPER,),
        (Stage.CROP_SEARCH,),
        (Stage.TEXT_SEARCH,),
        (Stage.RERANKER,),
        (Stage.KNOWLEDGE_FILTER,),
        (Stage.ANSWER,),
        (Stage.SESSION,),
    ),
    reads=((Stage.KNOWLEDGE_FILTER, 2_500), (Stage.ANSWER, 500)),
)


@dataclass(frozen=True, slots=True)
class WikiPrfPipeline:
    """The model plans how to look, the services find, the model keeps what serves the question, then answers.

    `fallback` answers when the reasoner's model cannot. `articles`, `sections`: of each tool, at most.
    """

    services: Services
    reasoner: WikiPrfReasoner
    thresholds: Thresholds
    fallback: WikiPrfReasoner | None = None
    articles: int = photo_tools.MOST_ARTICLES
    sections: int = photo_tools.MOST_SECTIONS
    name: str = "wiki-prf"
    stage_graph: StageGraph = STAGE_GRAPH

    def using(self, thresholds: Thresholds) -> "WikiPrfPipeline":
        """The same with other cut-offs."""
        return replace(self, thresholds=thresholds)

    async def answer(self, query: Query, run: Run) -> Outcome:
        """The whole photo's search beside the plan; then the tools in the plan's order, filter and answer."""
        async with prefetching() as group:
            sees = self._steps(run).sees
            photo_context = await begin_photo_context(
                group, self.services, query, run, photo_tools.MOST_ARTICLES, sees=sees
            )
            plan = await self._plan(photo_context, run) if query.photo else ToolPlan()
            things = await photo_context.recognise()
            run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in things))
            run.explain.signal("image_top", things[0].probability if things else None)
            document = await photo_tools.article(self.services, things[:1], run)
            sections = [item for call in plan.calls for item in await self._use(call, photo_context, run)]
            if query.photo is None:
                run.spare(Stage.TOOL_PLAN)
                sections = list(await self._sections_of(query, run))
            gathered = Gathered(document, tuple(sections)).within(run.plan.share_of_evidence(EVIDENCE_CHARS))
            knowledge = await self._filter(query, plan, gathered, run)
            entity = next(iter(fuse(things, self.thresholds)), None)
            context = Context(Route.RAG, entity, PhotoText(), gathered.evidence)
            reply = await self._answer(photo_context, knowledge, context, run)
        return answered(query.question, reply, context, None, run.failures, run.explain)

    async def _plan(self, photo_context: PhotoContext, run: Run) -> ToolPlan:
        """3.2: which tools in which order; none if the plan cannot be read: the whole photo stands for it."""
        plan = ToolPlan()
        async with run.optional(Stage.TOOL_PLAN), run.stage(Stage.TOOL_PLAN) as deadline:
            plan = await self._steps(run).plan_tools(photo_context, deadline)
        told = [f"{call.tool}: {call.content}" if call.content else call.tool for call in plan.calls]
        dropped = [f"lines that are no call: {plan.dropped}"] if plan.dropped else []
        other_form = [] if plan.in_form else ["not in the paper's form"]
        run.explain.note(Stage.TOOL_PLAN, (*told, *dropped, *other_form))
        return plan

    async def _sections_of(self, query: Query, run: Run) -> tuple[Evidence, ...]:
        """Return the sections that the question itself finds: the tools all need a photo."""
        found = await evidence.find_pages(self.services, (query.question,), run)
        return await photo_tools.best_sections(
            self.services, query, query.question, found, run, self.sections
        )

    async def _use(self, call: ToolCall, photo_context: PhotoContext, run: Run) -> tuple[Evidence, ...]:
        """3.3: the sections that a tool finds, ranked by the caption or, for pictures, by the question."""
        query, services = photo_context.query, self.services
        if query.photo is None:
            return ()
        if call.tool is PhotoTool.CAPTION:
            search = call.content
            async with run.optional(Stage.CAPTION), run.stage(Stage.CAPTION) as deadline:
                search = await self._steps(run).describe(query, call.content, deadline)
            run.explain.note(Stage.CAPTION, search)
            found = await photo_tools.described(services, search, run, self.articles)
        else:
            search = query.question
            if call.tool is PhotoTool.GROUNDING:
                whole = await photo_context.recognise()
                things = await photo_tools.grounded(
                    services, query.photo, call.content, whole, run, self.articles
                )
            else:
                things = await photo_tools.flipped(services, query.photo, run, self.articles)
            run.explain.note(Stage.CROP_SEARCH, (f"{call.tool}: {thing.name}" for thing in things))
            found = await photo_tools.article(services, things, run)
        best = await photo_tools.best_sections(services, query, search, found, run, self.sections)
        run.explain.note(Stage.RERANKER, f"{call.tool}: {len(best)} of {len(found)} sections")
        return best

    async def _filter(self, query: Query, plan: ToolPlan, gathered: Gathered, run: Run) -> str | None:
        """3.4: task-oriented knowledge; None when it cannot be had: all that was retrieved stands for it."""
        shown = evidence.prompt_tokens((*gathered.document, *gathered.sections), EVIDENCE_CHARS)
        size, stage = Work(extra_prompt_tokens=shown), Stage.KNOWLEDGE_FILTER
        knowledge: str | None = None
        if gathered.evidence:
            async with run.optional(stage), run.stage(stage, size) as deadline:
                knowledge = await self._steps(run).filter(query, plan, gathered, deadline)
        run.explain.note(Stage.KNOWLEDGE_FILTER, knowledge or "as it was retrieved")
        return knowledge

    async def _answer(
        self, photo_context: PhotoContext, knowledge: str | None, context: Context, run: Run
    ) -> Reply:
        """Equation 9."""
        run.keep(out_of_time(photo_context.query.question, context))
        generation = run.plan.generation
        reads = context.evidence if knowledge is None else ()
        shown = evidence.prompt_tokens(reads, EVIDENCE_CHARS) + KNOWLEDGE_TOKENS
        size = Work(extra_prompt_tokens=shown, max_output_tokens=generation.answer_tokens)
        async for reader, may_fail, stage in run.attempts(Stage.ANSWER, self.reasoner, self.fallback, size):
            async with may_fail, stage as deadline:
                reply = await reader.answer(photo_context, knowledge, context, generation, deadline)
        return reply

    def _steps(self, run: Run) -> WikiPrfReasoner:
        """Who takes the steps before the answer: not the model once the plan has no time for it."""
        return run.reasoner(self.reasoner, self.fallback)
