"""What the routes need from an engine, and how results of several sub-queries become one list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from chassis.vectors.port import CollectionSchema, Origin, VectorStore


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

    @property
    def store(self) -> VectorStore:
        """Where the collections are."""
        ...

    @property
    def schema(self) -> CollectionSchema:
        """What every collection of this engine looks like."""
        ...

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

    def index(self, collection: str, passages: Sequence[Passage]) -> Mapping[str, str]:
        """Write passages. Return id -> reason for those that were not written.

        A page is replaced as a whole: writing its passage at position 0 removes what the collection
        held of that address, so that an edited page never answers with its old text.
        Raises `CollectionNotFound`.
        """
        ...

    def probe(self) -> None:
        """Do a little of the real work, or raise."""
        ...
