"""What may still be done for a question, and in which order it is given up when time is short."""

from dataclasses import dataclass, replace
from typing import Any

from gateway.planning.stages import Stage
from gateway.state import GenerationBudget
from gateway.thresholds import RetrievalLimits


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done at most, full by default.

    `speculate`: search the whole photo beside the draft, before it is known whether that is needed.
    `crops`: 0 also spares finding what to crop. `sub_queries`: at 1 the question is not split.
    `text_hits`: passages that a search brings. `chunks`: scored by the reranker; `fine_chunks`: how many of
    them its costly second model reads. `evidence_chars`, `answer_tokens`: what the answering model reads and
    writes. `second_hop`: search for what only the evidence in hand names. `judge`: the model judge of the
    verifier. `model_draft`, `model_steps`: False leaves the draft, or the steps between draft and answer, to
    the fallback. `model`: False leaves all that follows the draft to it.
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
    second_hop: bool = True
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
        """What is left of a pipeline's own budget, in its unit: the ladder takes the same share of it."""
        return min(most, most * self.evidence_chars // FULL.evidence_chars)

    def share_of_hits(self, most: int) -> int:
        """What is left of a pipeline's own depth of a text search, at least 1."""
        return max(1, min(most, most * self.text_hits // FULL.text_hits))

    def by_model(self, stage: Stage) -> bool:
        """Whether the stage may ask the model, if it is one that does."""
        if stage is Stage.DRAFT:
            return self.model_draft
        return self.model if stage in _LAST else self.steps_by_model

    @property
    def steps_by_model(self) -> bool:
        """Whether the steps between draft and answer may ask the model."""
        return self.model and self.model_steps


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
        """Whether it leaves stages of the model to a fallback."""
        return any(name in _OF_MODEL for name, _ in self.limits)

    def apply(self, plan: Plan) -> Plan:
        """The plan within the limits; one that asks for less already stays as it is."""
        lower: dict[str, Any] = {name: min(getattr(plan, name), most) for name, most in self.limits}
        return replace(plan, **lower)


_SEARCHES = frozenset({Stage.TEXT_SEARCH, Stage.SECOND_HOP_SEARCH})
_RERANKERS = frozenset({Stage.RERANKER, Stage.SECOND_HOP_RERANKER})
_CROPPING = frozenset({Stage.OBJECT_LIST, Stage.CROPPER})
_SPLITTING = frozenset({Stage.QUERY_SPLIT, Stage.TEXT_SEARCH})
_ANSWER = frozenset({Stage.ANSWER})

LADDER: tuple[Cut, ...] = (
    Cut("fewer_crops", frozenset({Stage.CROPPER}), (("crops", 2),)),
    Cut("fewer_queries", frozenset({Stage.TEXT_SEARCH}), (("sub_queries", 4),)),
    Cut("no_second_hop", frozenset({Stage.SECOND_HOP}), (("second_hop", False),)),
    Cut("fewer_chunks", _SEARCHES | _RERANKERS, (("chunks", 30), ("fine_chunks", 16), ("text_hits", 5))),
    Cut("less_evidence", _ANSWER, (("evidence_chars", 1_200),)),
    Cut("shorter_answer", _ANSWER, (("answer_tokens", 128),)),
    Cut("no_fine_rerank", _RERANKERS, (("fine_chunks", 0),)),
    Cut("no_judge", frozenset({Stage.JUDGE}), (("judge", False),)),
    Cut("one_query", _SPLITTING, (("sub_queries", 1),)),
    Cut("no_crops", _CROPPING, (("crops", 0),)),
    Cut("no_rerank", _RERANKERS, (("rerank", False), ("chunks", 12))),
    Cut("pocket_draft", frozenset({Stage.DRAFT}), (("model_draft", False),)),
    Cut("pocket_steps", frozenset(), (("model_steps", False),)),
    Cut("pocket_answer", _ANSWER, (("model", False),)),
)
"""The cheapest loss of quality a millisecond first; each rung keeps the cuts before it.

First what the answer seldom misses; then the second reranking model, whose first one remains; then the judge,
of whose verifier the other checks remain; then parts of the search; at last the model. The answer from
evidence keeps the model longest: if there is time for one call only, that is the one. `pocket_steps` has no
stages of its own, because each step that the model does not take is named itself in `degraded`.
"""
