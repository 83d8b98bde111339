"""The engine's protocol and its types."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class PassageKind(StrEnum):
    """The contract's, without pydantic, which an engine does without."""

    PAGE = "page"
    ATTRIBUTE = "attribute"
    PHOTO = "photo"


@dataclass(frozen=True, slots=True)
class Passage:
    """Something to read. `boxes`: of a photo's text, (left, top, right, bottom) a line, in 0..1; or empty."""

    text: str
    title: str = ""
    kind: PassageKind = PassageKind.PAGE
    boxes: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A question, and what its "this" or "it" stands for if known."""

    question: str
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """`passages[passage].text[start:end]`, in code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Answer:
    """`span` answers, `sentence` holds it, `spoken` is what to say; `probability` in 0..1 is calibrated."""

    passage: int
    span: Span
    sentence: Span
    spoken: str
    probability: float


class Reader(Protocol):
    """Finds answers in passages; implementations are synchronous, blocking and thread-safe."""

    name: str
    """The reply's `model`."""

    def read(self, query: Query, passages: Sequence[Passage], top_n: int = 1) -> list[Answer]:
        """The best answers, best first, of different sentences; empty when none is said to the question."""
        ...

    def probe(self) -> object:
        """Read a sample."""
        return self.read(Query("Who wrote it?"), (Passage("It was written by Ada in 1907."),))
