"""The engine's protocol and its types."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from contracts.verifier import CheckName


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """One check's verdict; `detail` says in a sentence what was missing, empty when it passed."""

    name: CheckName
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """`evidence[evidence_index][start:end]` is the passage that supports the answer best."""

    evidence_index: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ModelSignals:
    """Signals of the model that wrote the answer (its tokens) and of the model that judged it.

    `token_probabilities`: one a token of the answer; empty when its server gave none.
    `token_min`, `token_mean`: what their least and their mean must reach (QA-Dragon, 3.7.2 and 4.3).
    `judgement`: the judge's probability that the answer is correct; None when nobody asked it.
    Raises `ValueError` for a number that is not in 0..1.
    """

    token_probabilities: tuple[float, ...] = ()
    token_min: float = 0.60
    token_mean: float = 0.90
    judgement: float | None = None

    def __post_init__(self) -> None:
        others = (self.token_min, self.token_mean, 0.0 if self.judgement is None else self.judgement)
        for number in (*self.token_probabilities, *others):
            if not 0.0 <= number <= 1.0:  # a NaN is in no range
                raise ValueError(f"A probability must be in 0..1, not {number}.")


NO_SIGNALS = ModelSignals()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`probability` that the answer is right; `span` is None when nothing matches or nothing was compared.

    `refused`: a model's signal fell below its threshold, which no probability outweighs.
    `by_evidence`: the probability before any such signal; None when the evidence was not read.
    """

    probability: float
    span: Span | None
    checks: tuple[CheckOutcome, ...]
    refused: bool = False
    by_evidence: float | None = None


class Verifier(Protocol):
    """Checks answers; implementations are synchronous, blocking and thread-safe."""

    name: str

    def verify(
        self,
        question: str,
        answer: str,
        evidence: Sequence[str],
        entity: str | None,
        signals: ModelSignals = NO_SIGNALS,
    ) -> Verdict:
        """Judge whether `answer` to `question` about `entity` holds, by `evidence` and by `signals`."""
        ...

    def probe(self) -> object:
        """Verify a sample."""
        signals = ModelSignals(token_probabilities=(0.98, 0.99), judgement=0.9)
        return self.verify("Who wrote it?", "Ada did.", ["It was written by Ada."], None, signals)
