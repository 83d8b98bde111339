"""The engine's protocol and its types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from chassis.rgb import RGB
from chassis.vectors.port import ADDRESS, Indexed, Origin, ScoredPoint, StoredPoint, VectorStore

Floats = npt.NDArray[np.floating[Any]]
RESERVE_MS = 60
"""A search ends so long before the deadline."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownThing:
    """A photo to be indexed, with the attributes of the thing in it; `id` is a UUID.

    Earlier records of its `origin`'s address are replaced; without an origin it is a document by itself.
    """

    id: str
    entity: str
    attributes: Mapping[str, str]
    title: str
    url: str
    photo: RGB
    origin: Origin | None = None

    @property
    def place(self) -> Origin:
        """Return where it is from."""
        return self.origin or Origin(f"file:{self.id}")

    @property
    def payload(self) -> dict[str, Any]:
        """Return its point's payload."""
        return {
            "entity": self.entity,
            "attributes": dict(self.attributes),
            "title": self.title,
            "url": self.url,
            **self.place.payload,
        }


@dataclass(frozen=True, slots=True)
class ThingSeen:
    """A known thing that a photo shows with this `probability`; `photo_index` says in which one.

    `inliers`: matched spots that fit one geometry, for engines that verify it. `cosine`: of the photos'
    vectors, for engines whose probability is made from it.
    """

    id: str
    entity: str
    attributes: Mapping[str, str]
    title: str
    url: str
    probability: float
    photo_index: int
    inliers: int | None
    cosine: float | None = None


def thing_at(
    point: ScoredPoint,
    probability: float,
    photo_index: int,
    *,
    inliers: int | None = None,
    cosine: float | None = None,
) -> ThingSeen:
    """Return the thing of a point."""
    payload = point.payload
    return ThingSeen(
        point.id,
        str(payload["entity"]),
        {str(key): str(value) for key, value in payload["attributes"].items()},
        str(payload["title"]),
        str(payload["url"]),
        probability,
        photo_index,
        inliers,
        cosine,
    )


class ImageSearchEngine(Protocol):
    """Finds known things in photos; implementations are synchronous, blocking and thread-safe."""

    name: str
    """The `model` of an embeddings reply."""

    def search(self, photos: Sequence[RGB], limit: int, collection: str) -> list[ThingSeen]:
        """Return the known things in all photos together, one for each entity, most probable first.

        Raises `CollectionNotFound`. Without time for more the reply holds what was verified.
        """
        ...

    def search_texts(self, texts: Sequence[str], limit: int, collection: str) -> list[ThingSeen]:
        """Return known things that look as the texts say, one for each entity, most alike first.

        Their `photo_index` is that of the text. Raises `NotSupported` if the engine has no text side, and
        `CollectionNotFound`.
        """
        ...

    def embed(self, photos: Sequence[RGB]) -> Floats:
        """Return (n, d): a unit vector for each photo."""
        ...

    def probe(self) -> None:
        """Do a little of the real work, or raise."""
        ...


class ImageIndex(ImageSearchEngine, Indexed, Protocol):
    """An engine with an index of its own."""

    def index(self, collection: str, things: Sequence[KnownThing]) -> dict[str, str]:
        """Write things into a version. Return id -> reason for those that cannot be indexed.

        Raises `CollectionNotFound`. Durable when the call returns.
        """
        ...


def replace_photos(store: VectorStore, collection: str, points: Sequence[StoredPoint]) -> None:
    """Replace the points of the photos' addresses.

    In this order: an ingestion that is killed in between finds that the points are missing.
    """
    if points:
        addresses = [str(point.payload[ADDRESS]) for point in points]
        store.discard(collection, ADDRESS, addresses, keep=[point.id for point in points])
        store.upsert(collection, points)
