"""What the routes need from an engine."""

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores passages; implementations are synchronous, blocking and thread-safe."""

    name: str
    """What the reply's `model` says."""

    def rerank(self, query: str, documents: Sequence[str], entity: str | None) -> list[float]:
        """Probabilities in 0..1 that each document answers `query`, in the documents' order.

        `entity` is the name of the thing that the question is about, when the caller knows it.
        """
        ...
