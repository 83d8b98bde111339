"""`wiki-prf`: processing, retrieval and filtering for knowledge-based visual questions (Wiki-PRF).

What differs from the paper, and why: grounding is the cropper service's, which finds labelled regions here,
not boxes that a language model writes; a caption is searched among pictures by the image search's CLIP, not
by EVA-CLIP, and among texts where that has no text side (as in the lite profile) or finds nothing; an article
is the page at the address of the thing's record or, if that is not indexed, what its name finds, a section
one of its chunks, similarity the reranker service's; the model was not trained for these formats, so that
plans and filtered knowledge are read leniently, and done without where nothing can be read. The answer is
given as it is said: nothing verifies it.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.wiki_prf import photo_tools
from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner
from gateway.pipelines.wiki_prf.tool_plan import Material, PhotoTool, ToolCall, ToolPlan
from gateway.planning.latencies import Work
from gateway.planning.plan import StageGraph
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, Entity, Evidence, Photo, PhotoText, Query
from gateway.steps import evidence
from gateway.steps.answering import answer_unchecked
from gateway.steps.conclusion import Outcome
from gateway.steps.identify import fuse
from gateway.steps.photo import begin_image_search
from gateway.thresholds import Thresholds

EVIDENCE_CHARS, KNOWLEDGE_TOKENS = 10_000, 200
TOOLS = {
    "captioning": PhotoTool.CAPTION,
    "grounding": PhotoTool.GROUNDING,
    "flipping": PhotoTool.FLIP,
}
ARTICLES_PAST = {"articles-past-1": 1, "articles-past-3": 3}
MODULES = frozenset(
    {"retrieval", "processing", "filtering", "refusals", "sections-past-1", *TOOLS, *ARTICLES_PAST}
)
"""Modules that an experiment may leave out: the paper's ablations that need no training.

Without `retrieval`: the model answers from the photo alone (the bases of Tables 1 and 4); `processing`: no
plan, no tools, the whole photo's article alone; `filtering`: the answer is made from all that was retrieved;
`captioning`, `grounding`, `flipping`: the plan's calls of that tool are not made (all of Table 8);
`articles-past-3`: a tool retrieves three articles (Tables 10, 14 and 15); `sections-past-1`: the best section
of a tool's articles is kept (Tables 14 and 15). Without `refusals` the answer is a name, a number or a short
phrase, whatever is known: exact match and BEM count no sentence and no refusal.
"""

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
    needs_model=True,
)


@dataclass(frozen=True, slots=True)
class WikiPrfPipeline:
    """The model plans how to look, the services search, and the model filters and answers."""

    services: Services
    reasoner: WikiPrfVlmReasoner
    thresholds: Thresholds
    name: str = "wiki-prf"
    stage_graph: StageGraph = STAGE_GRAPH
    missing: frozenset[str] = frozenset()
    modules: ClassVar[frozenset[str]] = MODULES

    @property
    def articles(self) -> int:
        """The most articles of each tool."""
        fewer = [most for name, most in ARTICLES_PAST.items() if name in self.missing]
        return min([photo_tools.MOST_ARTICLES, *fewer])

    @property
    def sections(self) -> int:
        """The most sections of each tool."""
        return 1 if "sections-past-1" in self.missing else photo_tools.MOST_SECTIONS

    async def answer(self, query: Query, run: Run) -> Outcome:
        """The whole photo's search beside the plan; then the tools in the plan's order, filter and answer."""
        if "retrieval" in self.missing:
            return await self._answer(query, None, Context(Route.DIRECT), run)
        async with prefetching() as group:
            begun = begin_image_search(group, self.services, query, run, photo_tools.MOST_ARTICLES)
            plan = await self._plan(query, run) if query.photo else ToolPlan()
            things = await begun.result()
            run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in things))
            run.explain.signal("image_top", things[0].probability if things else None)
            document = await photo_tools.article(self.services, things[:1], run)
            if query.photo is None:  # which every tool needs: the question itself is searched
                run.spare(Stage.TOOL_PLAN)
                text, services = query.question, self.services
                pages = await evidence.find_pages(services, (text,), run)
                sections = await photo_tools.best_sections(services, query, text, pages, run, self.sections)
            else:
                sections = await self._use_tools(plan, query, query.photo, things, run)
            gathered = Material(document, sections).within(run.plan.share_of_evidence(EVIDENCE_CHARS))
            knowledge = await self._filter(query, plan, gathered, run)
            entity = next(iter(fuse(things, self.thresholds)), None)
            context = Context(Route.RAG, entity, PhotoText(), gathered.evidence)
            return await self._answer(query, knowledge, context, run)

    async def _answer(self, query: Query, knowledge: str | None, context: Context, run: Run) -> Outcome:
        """Eq. 9. Without knowledge the evidence itself is shown."""
        short = "refusals" in self.missing
        answer = partial(self.reasoner.answer, query, knowledge, context, short=short)
        reads = context.evidence if knowledge is None else ()
        shown = evidence.prompt_tokens(reads, EVIDENCE_CHARS) + KNOWLEDGE_TOKENS
        return await answer_unchecked(answer, query, context, shown, run)

    async def _plan(self, query: Query, run: Run) -> ToolPlan:
        """3.2: which tools in which order; none if the plan cannot be read: the whole photo stands for it."""
        plan = ToolPlan()
        if "processing" in self.missing:
            return plan
        async with run.optional(Stage.TOOL_PLAN), run.stage(Stage.TOOL_PLAN) as deadline:
            plan = await self.reasoner.plan_tools(query, deadline)
        calls = [f"{call.tool}: {call.content}" if call.content else call.tool for call in plan.calls]
        run.explain.note(Stage.TOOL_PLAN, calls)
        unused = {tool for name, tool in TOOLS.items() if name in self.missing}
        used = tuple(call for call in plan.calls if call.tool not in unused)
        for name, tool in TOOLS.items():
            run.explain.signal(f"calls_of_{name}", sum(call.tool is tool for call in used))
        return replace(plan, calls=used)

    async def _use_tools(
        self, plan: ToolPlan, query: Query, photo: Photo, whole: tuple[Entity, ...], run: Run
    ) -> tuple[Evidence, ...]:
        """3.2, 3.3: the sections that the tools find. A flip turns the photo for the tools that follow it."""
        sections: list[Evidence] = []
        for call in plan.calls:
            if call.tool is PhotoTool.FLIP:
                photo = await photo_tools.flip(photo)
            else:
                turned = replace(query, photo=photo)
                sections += await self._use(call, turned, photo, whole, run)
        return tuple(sections)

    async def _use(
        self, call: ToolCall, query: Query, photo: Photo, whole: tuple[Entity, ...], run: Run
    ) -> tuple[Evidence, ...]:
        """3.3: the sections that a tool finds, ranked by the caption or, for pictures, by the question."""
        services = self.services
        if call.tool is PhotoTool.CAPTION:
            search = call.content
            async with run.optional(Stage.CAPTION), run.stage(Stage.CAPTION) as deadline:
                search = await self.reasoner.describe(query, call.content, deadline)
            run.explain.note(Stage.CAPTION, search)
            passages = await photo_tools.caption_articles(services, search, run, self.articles)
        else:
            search = query.question
            things = await photo_tools.ground(services, photo, call.content, whole, run, self.articles)
            run.explain.note(Stage.CROP_SEARCH, (f"{call.tool}: {thing.name}" for thing in things))
            passages = await photo_tools.article(services, things, run)
        best = await photo_tools.best_sections(services, query, search, passages, run, self.sections)
        run.explain.note(Stage.RERANKER, f"{call.tool}: {len(best)} of {len(passages)} sections")
        return best

    async def _filter(self, query: Query, plan: ToolPlan, gathered: Material, run: Run) -> str | None:
        """3.4: task-oriented knowledge; None when it cannot be had: all that was retrieved stands for it."""
        shown = evidence.prompt_tokens((*gathered.document, *gathered.sections), EVIDENCE_CHARS)
        size, stage = Work(extra_prompt_tokens=shown), Stage.KNOWLEDGE_FILTER
        knowledge: str | None = None
        if "filtering" in self.missing:
            return None
        if gathered.evidence:
            async with run.optional(stage), run.stage(stage, size) as deadline:
                knowledge = await self.reasoner.filter(query, plan, gathered, deadline)
        run.explain.note(Stage.KNOWLEDGE_FILTER, knowledge or "as it was retrieved")
        return knowledge
