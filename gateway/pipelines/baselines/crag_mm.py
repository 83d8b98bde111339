"""CRAG-MM's straightforward solutions of its three tasks (section 5.1, appendix C.1).

Its cut of .75 is a cosine of CLIP vectors, held against the cosine that image search tells; the pocket engine
compares no vectors, and there the cut is of its probability. Its 2,000 and 8,000 tokens are counted at four
characters each, headings included.
"""

from dataclasses import dataclass, replace

from gateway.clients.services import Services
from gateway.pipelines.baselines.model import VlmBaselines
from gateway.pipelines.baselines.retrieval import answer_from_search, known_things, search_snippets
from gateway.pipelines.baselines.retrieved import Retrieved
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stage_graph import CHARS_A_TOKEN, StageGraph
from gateway.planning.stages import Stage
from gateway.state import Evidence, Query
from gateway.steps import photo
from gateway.steps.conclusion import Outcome

IMAGE_CONTEXT_TOKENS, WEB_CONTEXT_TOKENS = 2_000, 8_000
"""What the straightforward solutions read of image search and of web search (appendix C.1)."""

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
STAGE_GRAPHS = {1: _TASK_1, 2: _TASK_2, 3: replace(_TASK_2, name="crag-mm-task-3")}
TASKS = tuple(STAGE_GRAPHS)


@dataclass(frozen=True, slots=True)
class CragMmPipeline:
    """Task 1 searches pictures, task 2 pages as well, task 3 does so with the conversation in view.

    Tasks 1 and 2 are single-turn: a follow-up is answered as if nothing had been said before it.
    """

    services: Services
    reasoner: VlmBaselines
    task: int
    images: int = 30
    similar_from: float = 0.75
    pages: int = 50

    @property
    def name(self) -> str:
        """What callers put into `pipeline`."""
        return f"crag-mm-task-{self.task}"

    @property
    def stage_graph(self) -> StageGraph:
        """The task's own."""
        return STAGE_GRAPHS[self.task]

    async def answer(self, query: Query, run: Run) -> Outcome:
        """Search by the whole photo; then, but for task 1, by a rewritten question; answer from it all."""
        if self.task < 3:
            query = replace(query, history=(), photo_is_new=query.photo is not None)
        found = await self._search_pictures(query, run)
        if self.task > 1:
            found = await self._search_pages(query, found, run)
        return await answer_from_search(self.reasoner, query, found, run)

    async def _search_pictures(self, query: Query, run: Run) -> Retrieved:
        """What is alike enough: the names, and as many attributes as the budget holds."""
        hits = await photo.search_whole_photo(self.services, query, self.images, run)
        budget = run.plan.share_of_evidence(IMAGE_CONTEXT_TOKENS * CHARS_A_TOKEN)
        return known_things(hits, run, self.similar_from).within(budget, 0)

    async def _search_pages(self, query: Query, found: Retrieved, run: Run) -> Retrieved:
        """Pages for the question as it reads without the photo, or as it is if nobody rewrites it."""
        size = Work(extra_prompt_tokens=found.image_chars // CHARS_A_TOKEN)
        search = query.question
        async with run.optional(Stage.QUERY_REWRITE), run.stage(Stage.QUERY_REWRITE, size) as deadline:
            search = await self.reasoner.rewrite_query(query, found, deadline)
        run.explain.note(Stage.QUERY_REWRITE, search)
        hits, pages = run.plan.share_of_hits(self.pages), tuple[Evidence, ...]()
        async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH) as deadline:
            pages = await search_snippets(self.services, search, hits, deadline)
        run.explain.found(Stage.TEXT_SEARCH, pages)
        budget = run.plan.share_of_evidence(WEB_CONTEXT_TOKENS * CHARS_A_TOKEN)
        return replace(found, pages=pages).within(found.image_chars, budget)
