"""Which stages lie ahead of a question, what runs beside what, and how much work a plan gives to each."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from gateway.budget.latencies import ONE, Work
from gateway.budget.plan import Plan
from gateway.budget.stages import Stage

CHARS_A_TOKEN = 4
COARSE_SHARE = 20 / 145
"""Of the reranker's time for a chunk, what its first model takes (the L40S table: 20 and 125 ms for 100)."""

_CROPPING = frozenset({Stage.OBJECT_LIST, Stage.OBJECT_SELECTION, Stage.CROPPER, Stage.CROP_SEARCH})
_SECOND_HOP = frozenset({Stage.BRIDGE, Stage.BRIDGE_SEARCH, Stage.BRIDGE_RERANKER})
_RERANKERS = frozenset({Stage.RERANKER, Stage.BRIDGE_RERANKER})

Step = tuple[Stage, ...]
"""Stages that run side by side: together they take as long as the slowest."""


@dataclass(frozen=True, slots=True)
class Course:
    """The longest way of a pipeline, in steps. What a question can be spared is not known when it is planned.

    `speculative`: stages that a plan may move into the first step. `by_rule`: stages that this pipeline does
    without the model. `crops_with_photo`: the crops are searched in one call with the photo (IMAGE_SEARCH).
    `reads`: tokens of material in a stage's prompt, where the pipeline has a budget of its own for it.
    """

    name: str
    steps: tuple[Step, ...]
    speculative: frozenset[Stage] = frozenset()
    by_rule: frozenset[Stage] = frozenset()
    crops_with_photo: bool = False
    reads: tuple[tuple[Stage, int], ...] = ()

    def in_order(self, speculate: bool) -> tuple[Step, ...]:
        """The steps, as many either way: speculative stages in the first one, or at their own places."""
        first, *rest = self.steps
        early = tuple(stage for step in rest for stage in step if stage in self.speculative)
        if not speculate:
            return self.steps
        later = (tuple(stage for stage in step if stage not in self.speculative) for step in rest)
        return ((*first, *early), *later)

    def reached(self, done: Collection[Stage]) -> int:
        """The place of the last step that has begun; those before it are over, whether they ran or not.

        What may have run ahead of its place does not tell.
        """
        tells = {stage for stage in done if stage not in self.speculative}
        begun = (place for place, step in enumerate(self.steps) if not tells.isdisjoint(step))
        return max(begun, default=0)

    def ahead(self, plan: Plan, done: Collection[Stage] = ()) -> Iterator[Step]:
        """The steps still to come. `done`: stages that are over, or that this question is spared."""
        for step in self.in_order(plan.speculate)[self.reached(done) :]:
            left = tuple(stage for stage in step if stage not in done and self.includes(stage, plan))
            if left:
                yield left

    def includes(self, stage: Stage, plan: Plan) -> bool:
        """Whether a plan leaves the stage switched on."""
        if stage in _RERANKERS and not plan.rerank:
            return False
        if stage in _SECOND_HOP:
            return plan.bridge
        if stage in _CROPPING:
            return plan.crops > 0
        if stage is Stage.QUERY_SPLIT:
            return plan.sub_queries > 1
        return plan.judge and plan.model if stage is Stage.JUDGE else True

    def asks_model(self, stage: Stage, plan: Plan) -> bool:
        """Whether the stage is the model's, where there is one: no rule's, nor the pocket reasoner's."""
        return plan.by_model(stage) and stage not in self.by_rule

    def work(self, stage: Stage, plan: Plan) -> Work:
        """The most that the plan gives the stage to do."""
        if stage is Stage.IMAGE_SEARCH and self.crops_with_photo:
            return Work(items=plan.crops + 1)
        if stage is Stage.CROP_SEARCH:
            return Work(items=plan.crops)
        if stage is Stage.TEXT_SEARCH:
            return Work(items=plan.sub_queries)
        if stage in _RERANKERS:
            return Work(items=rerank_items(plan.chunks, plan.fine_chunks))
        if stage is Stage.ANSWER:
            return Work(
                extra_prompt_tokens=self.tokens_read(stage, plan), max_output_tokens=plan.answer_tokens
            )
        reads = stage is Stage.JUDGE or stage in dict(self.reads)
        return Work(extra_prompt_tokens=self.tokens_read(stage, plan)) if reads else ONE

    def tokens_read(self, stage: Stage, plan: Plan) -> int:
        """Tokens of material in the stage's prompt, at most."""
        own = dict(self.reads).get(stage)
        return plan.evidence_chars // CHARS_A_TOKEN if own is None else plan.share_of_evidence(own)


def rerank_items(chunks: int, fine_chunks: int) -> int:
    """Chunks in terms of those that both models read, at least 1: what the latency table counts."""
    fine = min(chunks, fine_chunks)
    return max(1, round(COARSE_SHARE * chunks + (1 - COARSE_SHARE) * fine))


_FIRST_LOOK: Step = (Stage.OCR, Stage.DOMAIN_ROUTER, Stage.DRAFT)

LOREGLASS = Course(
    "loreglass",
    (
        _FIRST_LOOK,
        (Stage.IMAGE_SEARCH,),
        (Stage.CROPPER,),
        (Stage.CROP_SEARCH,),
        (Stage.SELECT_ENTITY,),
        (Stage.TEXT_SEARCH,),
        (Stage.RERANKER,),
        (Stage.BRIDGE,),
        (Stage.BRIDGE_SEARCH,),
        (Stage.BRIDGE_RERANKER,),
        (Stage.ANSWER,),
        (Stage.VERIFIER,),
        (Stage.JUDGE,),
        (Stage.SESSION,),
    ),
    speculative=frozenset({Stage.IMAGE_SEARCH}),
    by_rule=frozenset({Stage.SELECT_ENTITY}),
)

QA_DRAGON = Course(
    "qa-dragon",
    (
        (Stage.OCR, Stage.DOMAIN_ROUTER),
        (Stage.DRAFT,),
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
"""Its ablations too: what they leave out was never begun, and a plan for more than is done harms nobody."""


LLM_ONLY = Course("llm-only", ((Stage.ANSWER,), (Stage.SESSION,)), reads=((Stage.ANSWER, 0),))

COT = Course("cot", ((Stage.DRAFT,), (Stage.SESSION,)))

DIRECT_RAG = Course(
    "direct-rag", ((Stage.IMAGE_SEARCH, Stage.TEXT_SEARCH), (Stage.ANSWER,), (Stage.SESSION,))
)

IMAGE_CONTEXT_TOKENS, WEB_CONTEXT_TOKENS = 2_000, 8_000
"""What CRAG-MM's straightforward solutions read of image search and of web search (its appendix C.1)."""

CRAG_MM_TASK_1 = Course(
    "crag-mm-task-1",
    ((Stage.IMAGE_SEARCH,), (Stage.ANSWER,), (Stage.SESSION,)),
    reads=((Stage.ANSWER, IMAGE_CONTEXT_TOKENS),),
)

CRAG_MM_TASK_2 = Course(
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
)

CRAG_MM_TASK_3 = replace(CRAG_MM_TASK_2, name="crag-mm-task-3")

THREE_STEP = Course(
    "three-step",
    (
        (Stage.IMAGE_SEARCH, Stage.QUERY_SAMPLING),
        (Stage.TEXT_SEARCH,),
        (Stage.LISTWISE_RERANK,),
        (Stage.ANSWER,),
        (Stage.SESSION,),
    ),
    reads=((Stage.LISTWISE_RERANK, 5_000), (Stage.ANSWER, 3_000)),
)

WIKI_PRF = Course(
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

COURSES: Mapping[str, Course] = {
    course.name: course
    for course in (
        *(LOREGLASS, QA_DRAGON, LLM_ONLY, COT, DIRECT_RAG),
        *(CRAG_MM_TASK_1, CRAG_MM_TASK_2, CRAG_MM_TASK_3, THREE_STEP, WIKI_PRF),
    )
}
"""The baselines' have no OCR: a model reads the photo itself; who stands in for it begins beside the rest."""


def course_of(pipeline: str) -> Course:
    """The course of the pipeline of that name; an ablation `qa-dragon-no-…` has its whole's.

    Raises `KeyError` where there is none.
    """
    for name, course in COURSES.items():
        if pipeline == name or pipeline.startswith(f"{name}-"):
            return course
    raise KeyError(pipeline)
