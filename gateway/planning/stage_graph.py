"""Which stages lie ahead of a question, what runs beside what, and how much work a plan gives to each."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from gateway.planning.latencies import ONE, Work
from gateway.planning.plan import Plan
from gateway.planning.stages import Stage

CHARS_A_TOKEN = 4
COARSE_SHARE = 20 / 145
"""Of the reranker's time for a chunk, what its first model takes (the L40S table: 20 and 125 ms for 100)."""

_CROPPING = frozenset({Stage.OBJECT_LIST, Stage.OBJECT_SELECTION, Stage.CROPPER, Stage.CROP_SEARCH})
_SECOND_HOP = frozenset({Stage.SECOND_HOP, Stage.SECOND_HOP_SEARCH, Stage.SECOND_HOP_RERANKER})
_RERANKERS = frozenset({Stage.RERANKER, Stage.SECOND_HOP_RERANKER})

Step = tuple[Stage, ...]
"""Stages that run side by side: together they take as long as the slowest."""


@dataclass(frozen=True, slots=True)
class StageGraph:
    """The longest way of a pipeline, in steps. What a question can be spared is not known when it is planned.

    `speculative`: stages that a plan may move into the first step. `by_rule`: stages that this pipeline does
    without the model. `crops_with_photo`: the crops are searched in one call with the photo (IMAGE_SEARCH).
    `reads`: tokens of material in a stage's prompt, where the pipeline has a budget of its own for it.
    `needs_model`: nothing does the model's stages in its place, so that no cut takes them from it.
    """

    name: str
    steps: tuple[Step, ...]
    speculative: frozenset[Stage] = frozenset()
    by_rule: frozenset[Stage] = frozenset()
    crops_with_photo: bool = False
    reads: tuple[tuple[Stage, int], ...] = ()
    needs_model: bool = False
    _speculating: tuple[Step, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first, *rest = self.steps
        early = tuple(stage for step in rest for stage in step if stage in self.speculative)
        later = (tuple(stage for stage in step if stage not in self.speculative) for step in rest)
        object.__setattr__(self, "_speculating", ((*first, *early), *later))

    def in_order(self, speculate: bool) -> tuple[Step, ...]:
        """The steps, as many either way: speculative stages in the first one, or at their own places."""
        return self._speculating if speculate else self.steps

    def reached(self, done: Collection[Stage]) -> int:
        """The place of the last step that has begun; those before it are over, whether they ran or not.

        What may have run ahead of its place does not tell.
        """
        if not done:
            return 0
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
            return plan.second_hop
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
        return Work(extra_prompt_tokens=self.tokens_read(stage, plan)) if stage in dict(self.reads) else ONE

    def tokens_read(self, stage: Stage, plan: Plan) -> int:
        """Tokens of material in the stage's prompt, at most."""
        own = dict(self.reads).get(stage)
        return plan.evidence_chars // CHARS_A_TOKEN if own is None else plan.share_of_evidence(own)


def rerank_items(chunks: int, fine_chunks: int) -> int:
    """Chunks in terms of those that both models read, at least 1: what the latency table counts."""
    fine = min(chunks, fine_chunks)
    return max(1, round(COARSE_SHARE * chunks + (1 - COARSE_SHARE) * fine))
