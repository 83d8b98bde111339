"""`wiki-prf`: processing, retrieval and filtering for knowledge-based visual questions (Wiki-PRF).

What differs from the paper, and why: grounding is the cropper service's, which finds labelled regions here,
not boxes that a language model writes; a caption is searched among pictures by the image search's CLIP, not
by EVA-CLIP, and among texts where that has no text side (as in the lite profile) or finds nothing; an article
is the page at the address of the thing's record or, if that is not indexed, what its name finds, a section
one of its chunks, similarity the reranker service's; the model was not trained for these formats, so that
plans and filtered knowledge are read leniently, and done without where nothing can be read. The answer is
given as it is said: nothing verifies it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import anyio.to_thread
from PIL import ImageOps

from chassis.images import ImageLimits, encode_picture, upright_rgb
from contracts.answer import Route
from contracts.text_search import ReadPagesRequest
from gateway.clients.services import Services
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
from gateway.steps.photo import begin_image_search, find_crops, fuse, search_pictures
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
        fewer = [most for name, most in ARTICLES_PAST.items() if name in self.missing]
        return min([MOST_ARTICLES, *fewer])

    @property
    def sections(self) -> int:
        return 1 if "sections-past-1" in self.missing else MOST_SECTIONS

    async def answer(self, query: Query, run: Run) -> Outcome:
        """The whole photo's search beside the plan; then the tools in the plan's order, filter and answer."""
        if "retrieval" in self.missing:
            return await self._answer(query, None, Context(Route.DIRECT), run)
        async with prefetching() as group:
            begun = begin_image_search(group, self.services, query, run, MOST_ARTICLES)
            plan = await self._plan(query, run) if query.photo else ToolPlan()
            things = await begun.result()
            run.explain.note(Stage.IMAGE_SEARCH, (thing.name for thing in things))
            run.explain.signal("image_top", things[0].probability if things else None)
            document = await article(self.services, things[:1], run)
            if query.photo is None:  # which every tool needs: the question itself is searched
                run.spare(Stage.TOOL_PLAN)
                text, services = query.question, self.services
                pages = await evidence.find_pages(services, (text,), run)
                sections = await best_sections(services, query, text, pages, run, self.sections)
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
        tokens = evidence.prompt_tokens(reads, EVIDENCE_CHARS) + KNOWLEDGE_TOKENS
        return await answer_unchecked(answer, query, context, tokens, run)

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
                photo = await flip(photo)
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
            passages = await caption_articles(services, search, run, self.articles)
        else:
            search = query.question
            things = await ground(services, photo, call.content, whole, run, self.articles)
            run.explain.note(Stage.CROP_SEARCH, (f"{call.tool}: {thing.name}" for thing in things))
            passages = await article(services, things, run)
        best = await best_sections(services, query, search, passages, run, self.sections)
        run.explain.note(Stage.RERANKER, f"{call.tool}: {len(best)} of {len(passages)} sections")
        return best

    async def _filter(self, query: Query, plan: ToolPlan, gathered: Material, run: Run) -> str | None:
        """3.4: task-oriented knowledge; None when it cannot be had: all that was retrieved stands for it."""
        tokens = evidence.prompt_tokens((*gathered.document, *gathered.sections), EVIDENCE_CHARS)
        size, stage = Work(extra_prompt_tokens=tokens), Stage.KNOWLEDGE_FILTER
        knowledge: str | None = None
        if "filtering" in self.missing:
            return None
        if gathered.evidence:
            async with run.optional(stage), run.stage(stage, size) as deadline:
                knowledge = await self.reasoner.filter(query, plan, gathered, deadline)
        run.explain.note(Stage.KNOWLEDGE_FILTER, knowledge or "as it was retrieved")
        return knowledge


MOST_ARTICLES = 5
MOST_SECTIONS = 3
"""Of each tool, at most: the paper's best settings (tables 14 and 15)."""

_MOST_PASSAGES = 200
"""Of the articles that a tool finds."""
_LABEL_CHARS = 100  # what the cropper takes
_QUALITY = 92
_LIMITS = ImageLimits()


async def article(services: Services, things: Sequence[Entity], run: Run) -> tuple[Evidence, ...]:
    """Return what is known of the things: their attributes and their whole articles, in chunks.

    An article is the page at the address of the thing's record. If the index holds no such page, it is what
    the thing's name finds.
    """
    if not things:
        return ()
    pages = await _whole_pages(services, things, run)
    read = {page.url for page in pages}
    names = tuple(dict.fromkeys(thing.name for thing in things if thing.url not in read))
    passages = await evidence.find_pages(services, names, run) if names else ()
    return (*evidence.attributes_of(things), *pages, *passages)


async def _whole_pages(services: Services, things: Sequence[Entity], run: Run) -> tuple[Evidence, ...]:
    addresses = list(dict.fromkeys(thing.url for thing in things if thing.url))
    pages: tuple[Evidence, ...] = ()
    if addresses:
        async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH) as deadline:
            request = ReadPagesRequest(addresses=addresses, k=_MOST_PASSAGES)
            pages = evidence.chunks_of(await services.search_pages(request, deadline))
        run.explain.add_results(Stage.TEXT_SEARCH, pages)
    return pages


async def caption_articles(
    services: Services, description: str, run: Run, articles: int
) -> tuple[Evidence, ...]:
    """Captioning: articles of the things whose pictures a description finds (3.3); of those whose texts it
    finds, where image search takes no texts or finds no picture.
    """
    things: tuple[Entity, ...] = ()
    if await services.takes("image_search", "text", run.deadline):
        async with run.optional(Stage.CROP_SEARCH), run.stage(Stage.CROP_SEARCH, Work(1)) as deadline:
            things = await services.search_photos_by_text((description,), articles, deadline)
        run.explain.add_results(Stage.CROP_SEARCH, things)
    if things:
        run.explain.note(Stage.CROP_SEARCH, (f"{PhotoTool.CAPTION}: {thing.name}" for thing in things))
        return await article(services, things, run)
    return await evidence.find_pages(services, (description,), run, most=articles)


async def ground(
    services: Services,
    photo: Photo,
    label: str,
    whole: tuple[Entity, ...],
    run: Run,
    articles: int,
) -> tuple[Entity, ...]:
    """Grounding: things like the best region that bears the label; like the full photo if there is none."""
    crops = await find_crops(services, photo, (label[:_LABEL_CHARS],), run)
    return await search_pictures(services, crops[:1], articles, run) if crops else whole[:articles]


async def flip(photo: Photo) -> Photo:
    """Return the photo's mirror image. Raises `CorruptImage`."""
    mirror = await anyio.to_thread.run_sync(mirror_jpeg, photo.jpeg, abandon_on_cancel=True)
    return replace(photo, jpeg=mirror, digest=f"{photo.digest}-mirrored")


async def best_sections(
    services: Services,
    query: Query,
    text: str,
    chunks: Sequence[Evidence],
    run: Run,
    sections: int,
) -> tuple[Evidence, ...]:
    """Return the sections most similar to `text`, most similar first."""
    if not chunks:
        return ()
    ranked = await evidence.rank_chunks(services, text, chunks, run, photo=query.photo)
    return tuple(sorted(ranked, key=lambda item: -item.score)[:sections])


def mirror_jpeg(jpeg: bytes) -> bytes:
    """Return the photo turned left to right. Raises `CorruptImage`. Blocking."""
    return encode_picture(ImageOps.mirror(upright_rgb(jpeg, _LIMITS, None)), _QUALITY)
