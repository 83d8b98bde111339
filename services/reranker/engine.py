"""What the routes need from an engine."""

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

    @property
    def name(self) -> str:
        """What the reply's `model` says."""
        ...

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        entity: str | None,
        photo: Photo | None = None,
        fine_top: int | None = None,
    ) -> list[float]:
        """Scores in 0..1 of how well each document answers `query`, in the documents' order.

        0 means discarded. `entity` is the name of the thing that the question is about, when the caller
        knows it; `photo` is what the question was asked about; `fine_top`: at most so many of the best go
        through a second, costlier model, 0 for none. An engine may ignore any of the three.
        """
        ...

    def probe(self) -> object:
        """Do a little work in every part. Raises what that raises."""
        ...


def with_entity(query: str, entity: str | None) -> str:
    """The query with the entity's name added, unless it is named there already."""
    if not entity or entity.casefold() in query.casefold():
        return query
    return f"{query} (about {entity})"
