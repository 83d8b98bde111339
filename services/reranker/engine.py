"""The engine's protocol and its types."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Photo = NDArray[np.uint8]
"""RGB, (height, width, 3)."""

INSTRUCTION = (
    "Someone asks about a thing in a photo. Decide whether the document states what is needed to answer."
)
"""The task, for models that take an instruction."""
SAMPLE = ("Who wrote it?", "It was written by Ada.")
"""A question and a document for probes."""


class Reranker(Protocol):
    """Scores passages; implementations are synchronous, blocking and thread-safe."""

    name: str
    """The reply's `model`."""

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        entity: str | None,
        photo: Photo | None = None,
        fine_top: int | None = None,
    ) -> list[float]:
        """Return for each document, in order, a score in 0..1: how well it answers `query`; 0: discarded.

        `entity`: the name of the thing that the question is about, if known; `photo`: what it was asked
        about; `fine_top`: the most documents that a second, costlier model reads. An engine may ignore any
        of the three.
        """
        ...

    def probe(self) -> object:
        """Score a sample, with every part of the engine."""
        return self.rerank(SAMPLE[0], SAMPLE[1:], None)


def with_entity(query: str, entity: str | None) -> str:
    """The query with the entity's name added, unless it is named there already."""
    if not entity or entity.casefold() in query.casefold():
        return query
    return f"{query} (about {entity})"
