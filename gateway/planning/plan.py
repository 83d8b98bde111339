"""The plan of a question: what may still be done, what is given up first, and the stages it goes through."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.planning.latencies import ONE, Work
from gateway.planning.stages import Stage
from gateway.state import GenerationBudget
from gateway.thresholds import RetrievalLimits


@dataclass(frozen=True, slots=True)
class Plan:
    """The most that is done, full by default.

    `speculate`: search the whole photo beside the draft, before it is known whether that is needed.
    `crops`: 0 also spares finding what to crop. `sub_queries`: at 1 the question is not split.
    `text_hits`: passages that a search brings. `chunks`: scored by the reranker; `fine_chunks`: how many of
    them its costly second model reads. `evidence_chars`, `answer_tokens`: what the answering model reads and
    writes. `judge`: the model judge of the verifier. `model_draft`, `model_steps`: False leaves the draft, or
    the steps between draft and answer, to the fallback. `model`: False leaves all that follows the draft to
    it.
    """

    speculate: bool = True
    crops: int = 4
    sub_queries: int = 16
    text_hits: int = 10
    chunks: int = 60
    fine_chunks: int = 32
    rerank: bool = True
    evidence_chars: int = 2_000
    answer_tokens: int = 288
    judge: bool = True
    model_draft: bool = True
    model_steps: bool = True
    model: bool = True

    @classmethod
    def full(cls, retrieval: RetrievalLimits, generation: GenerationBudget | None = None) -> "Plan":
        """Everything that the retrieval limits and the reasoner's own limits allow."""
        generation = generation or GenerationBudget()
        return cls(
            crops=retrieval.crops,
            text_hits=retrieval.text_hits,
            chunks=retrieval.chunks_to_rerank,
            fine_chunks=retrieval.chunks_to_judge,
            evidence_chars=generation.evidence_chars,
            answer_tokens=generation.answer_tokens,
        )

    @property
    def generation(self) -> GenerationBudget:
        """The answering model's share of the plan."""
        return GenerationBudget(answer_tokens=self.answer_tokens, evidence_chars=self.evidence_chars)

    def share_of_evidence(self, most: int) -> int:
        """Return the rest of a pipeline's own budget, in its unit: the ladder takes the same share of it."""
        return min(most, most * self.evidence_chars // FULL.evidence_chars)

    def share_of_hits(self, most: int) -> int:
        """Return what is left of a pipeline's own depth of a text search, at least 1."""
        return max(1, min(most, most * self.text_hits // FULL.text_hits))

    def by_model(self, stage: Stage) -> bool:
        """Return whether the stage may ask the model, if it is one that does."""
        if stage is Stage.DRAFT:
            return self.model_draft
        return self.model and (self.model_steps or stage in _LAST)


_LAST = frozenset({Stage.ANSWER, Stage.JUDGE})
_OF_MODEL = frozenset({"model_draft", "model_steps", "model"})
FULL = Plan()


@dataclass(frozen=True, slots=True)
class Cut:
    """One thing given up. `name`: in `degraded` and the trace; `stages`: at which it is effective; `limits`:
    fields of the plan and the most that they may be from here on (False: switched off)."""

    name: str
    stages: frozenset[Stage]
    limits: tuple[tuple[str, int], ...]

    @property
    def takes_from_model(self) -> bool:
        """Return whether it leaves stages of the model to a fallback."""
        return any(name in _OF_MODEL for name, _ in self.limits)

    def apply(self, plan: Plan) -> Plan:
        """Return the plan within the limits; one that asks for less already stays as it is."""
        lower: dict[str, Any] = {name: min(getattr(plan, name), most) for name, most in self.limits}
        return replace(plan, **lower)


_SEARCH_AND_RERANKER = frozenset({Stage.TEXT_SEARCH, Stage.RERANKER})
_RERANKER = frozenset({Stage.RERANKER})
_CROPPING = frozenset({Stage.OBJECT_LIST, Stage.CROPPER})
_SPLITTING = frozenset({Stage.QUERY_SPLIT, Stage.TEXT_SEARCH})
_ANSWER = frozenset({Stage.ANSWER})

LADDER: tuple[Cut, ...] = (
    Cut("fewer_crops", frozenset({Stage.CROPPER}), (("crops", 2),)),
    Cut("fewer_queries", frozenset({Stage.TEXT_SEARCH}), (("sub_queries", 4),)),
    Cut("fewer_chunks", _SEARCH_AND_RERANKER, (("chunks", 30), ("fine_chunks", 16), ("text_hits", 5))),
    Cut("less_evidence", _ANSWER, (("evidence_chars", 1_200),)),
    Cut("shorter_answer", _ANSWER, (("answer_tokens", 128),)),
    Cut("no_fine_rerank", _RERANKER, (("fine_chunks", 0),)),
    Cut("no_judge", frozenset({Stage.JUDGE}), (("judge", False),)),
    Cut("one_query", _SPLITTING, (("sub_queries", 1),)),
    Cut("no_crops", _CROPPING, (("crops", 0),)),
    Cut("no_rerank", _RERANKER, (("rerank", False), ("chunks", 12))),
    Cut("lite_draft", frozenset({Stage.DRAFT}), (("model_draft", False),)),
    Cut("lite_steps", frozenset(), (("model_steps", False),)),
    Cut("lite_answer", _ANSWER, (("model", False),)),
)
"""The cheapest loss of quality a millisecond first; each rung keeps the cuts before it.

First what the answer seldom misses; then the second reranking model, whose first one remains; then the judge,
of whose verifier the other checks remain; then parts of the search; at last the model. The answer from
evidence keeps the model longest: if there is time for one call only, that is the one. `lite_steps` has no
stages of its own, because each step that the model does not take is named itself in `degraded`.
"""


CHARS_A_TOKEN = 4
COARSE_SHARE = 20 / 145
"""The first model's share of the reranker's time a chunk (L40S table: 20 and 125 ms for 100 chunks)."""

_CROP_STAGES = frozenset({Stage.OBJECT_LIST, Stage.OBJECT_SELECTION, Stage.CROPPER, Stage.CROP_SEARCH})

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
        places = (place for place, step in enumerate(self.steps) if not tells.isdisjoint(step))
        return max(places, default=0)

    def ahead(self, plan: Plan, done: Collection[Stage] = ()) -> Iterator[Step]:
        """Return the steps still to come. `done`: stages that are over, or that this question is spared."""
        for step in self.in_order(plan.speculate)[self.reached(done) :]:
            left = tuple(stage for stage in step if stage not in done and self.includes(stage, plan))
            if left:
                yield left

    def includes(self, stage: Stage, plan: Plan) -> bool:
        """Return whether a plan leaves the stage switched on."""
        if stage is Stage.RERANKER and not plan.rerank:
            return False
        if stage in _CROP_STAGES:
            return plan.crops > 0
        if stage is Stage.QUERY_SPLIT:
            return plan.sub_queries > 1
        return plan.judge and plan.model if stage is Stage.JUDGE else True

    def asks_model(self, stage: Stage, plan: Plan) -> bool:
        """Return whether the model does the stage, if there is one, and not a rule or the lite reasoner."""
        return plan.by_model(stage) and stage not in self.by_rule

    def work(self, stage: Stage, plan: Plan) -> Work:
        """Return the most that the plan gives the stage to do."""
        if stage is Stage.IMAGE_SEARCH and self.crops_with_photo:
            return Work(items=plan.crops + 1)
        if stage is Stage.CROP_SEARCH:
            return Work(items=plan.crops)
        if stage is Stage.TEXT_SEARCH:
            return Work(items=plan.sub_queries)
        if stage is Stage.RERANKER:
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
