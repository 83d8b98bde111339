"""Protocols of the engine that the routes call and of the encoder that an index calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from chassis.vectors.port import Indexed, Origin


class Provider(StrEnum):
    """A search API of the web. SearXNG is self-hosted and needs no key."""

    SEARXNG = "searxng"
    BRAVE = "brave"
    TAVILY = "tavily"


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a page that is indexed; `id` is a UUID made from its content. `origin` None: its URL is.

    `sections`: the lines of its text that name sections. `picture`: a file that its page shows.
    """

    id: str
    url: str
    title: str
    text: str
    position: int = 0
    last_modified: datetime | None = None
    sections: tuple[str, ...] = ()
    origin: Origin | None = None
    picture: bytes | None = None

    @property
    def address(self) -> str:
        """Return the address of its document."""
        return self.origin.address if self.origin else self.url


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that one sub-query found; `score` is on that sub-query's own scale."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A passage of a page; `query_indexes`: sub-queries that found the page; `score`: its fused score."""

    passage: Passage
    score: float
    query_indexes: tuple[int, ...]


class TextSearchEngine(Protocol):
    """Finds passages; implementations are synchronous, blocking and thread-safe."""

    def search(
        self,
        queries: Sequence[str],
        k: int,
        collection: str,
        depth: int | None = None,
        photo: bytes | None = None,
    ) -> list[FusedHit]:
        """Return the `k` best pages for all sub-queries together, or fewer: of each sub-query only the best
        `depth` passages count. `photo`: a JPEG that they are about, for engines that see.

        Raises `CollectionNotFound`.
        """
        ...

    def probe(self) -> None:
        """Do a little of the real work, or raise."""
        ...


class TextIndex(TextSearchEngine, Indexed, Protocol):
    """An engine with an index of its own."""

    def index(self, collection: str, passages: Sequence[Passage]) -> Mapping[str, str]:
        """Write passages. Return id -> reason for those that were not written.

        A page is replaced as a whole: writing its passage at position 0 removes what the collection
        held of that address, so that an edited page never answers with its old text.
        Raises `CollectionNotFound`.
        """
        ...


Vector = NDArray[np.float32]
"""Of unit length, [size]."""

TokenIds = tuple[int, ...]
Forward = Callable[[Sequence[TokenIds]], Sequence[Vector]]
"""A forward pass of the model over tokenised texts; one that is shared with other callers fits as well."""

BGE_QUERY_INSTRUCTION = "Represent this sentence for searching relevant passages: "
"""Query prefix by the model card of bge-*-en-v1.5; passages have none."""


class Pooling(StrEnum):
    """The way to make a sentence's vector from its tokens' vectors."""

    CLS = "cls"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Instructions:
    """Prefixes of queries and passages that the model was trained with."""

    query: str = BGE_QUERY_INSTRUCTION
    passage: str = ""

    def name_of(self, encoder: str) -> str:
        """Return the encoder's name with its use; instructions of queries change no index."""
        return f"{encoder}, after {self.passage!r}" if self.passage else encoder


BGE_INSTRUCTIONS = Instructions()
SEEING_INSTRUCTIONS = Instructions(
    "Find the page that answers the question about the photo.", "Represent the user's input."
)
"""Of Qwen3-VL-Embedding: its card wants the task for queries; it was trained with the other one."""


class TextEncoder(Protocol):
    """Implementations are synchronous, blocking and thread-safe."""

    @property
    def name(self) -> str:
        """The model and its use. Vectors of encoders with different names cannot be compared."""
        ...

    @property
    def size(self) -> int:
        """Dimensions of a vector."""
        ...

    def queries(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each question, in order."""
        ...

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each passage, in order."""
        ...


@runtime_checkable
class SeeingEncoder(TextEncoder, Protocol):
    """Makes one vector of a text and a picture (a JPEG)."""

    def queries_about(self, texts: Sequence[str], photo: bytes) -> list[Vector]:
        """Return a vector for each question with the photo, in order."""
        ...

    def passages_with(self, texts: Sequence[str], pictures: Sequence[bytes | None]) -> list[Vector]:
        """Return a vector for each passage with its picture, if it has one, in order."""
        ...


def model_name(source: str) -> str:
    """`bge-large-en-v1.5` for the hub id and for a local folder alike, so that they are one model."""
    return source.rstrip("/").rsplit("/", 1)[-1]
