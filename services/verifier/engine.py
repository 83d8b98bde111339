"""What the routes need from an engine."""

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
class Verdict:
    """`probability` that the evidence supports the answer; `span` is None when nothing matches at all."""

    probability: float
    span: Span | None
    checks: tuple[CheckOutcome, ...]


class Verifier(Protocol):
    """Checks answers; implementations are synchronous, blocking and thread-safe."""

    name: str

    def verify(self, question: str, answer: str, evidence: Sequence[str], entity: str | None) -> Verdict:
        """Judge whether `evidence` supports `answer` as an answer to `question` about `entity`."""
        ...
