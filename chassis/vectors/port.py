"""The port: versioned collections of points with named dense and sparse vectors, and aliases.

Without pydantic: engines import it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

RANK_CONSTANT = 60
"""k of reciprocal rank fusion, where the best has rank 1 (Cormack, Clarke and Buettcher, SIGIR 2009)."""
ADDRESS, SOURCE, ORIGIN = "address", "source", "origin"
KEYWORDS = (ADDRESS, SOURCE, ORIGIN)
"""Payload fields that documents are looked up by."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """`values[i]` is the weight of dimension `indices[i]` (unsigned 32-bit, unique)."""

    indices: tuple[int, ...]
    values: tuple[float, ...]


Vector = Sequence[float] | SparseVector
Prefetch = tuple[str, Vector]
"""One of the searches that are fused: the name of a vector, and what to look for."""
Fields = Mapping[str, Sequence[str]]
"""Payload fields, and the values that each may have."""


@dataclass(frozen=True, slots=True)
class CollectionSchema:
    """`dense`: vector name -> size (cosine distance); `sparse`: names, each with IDF applied.

    The store's IDF of a dimension is ln((N - n + 0.5) / (n + 0.5) + 1) with n of N points holding it.
    `keywords`: payload fields that points are looked up by. `encoder` names the model that makes
    the dense vectors, if there is one: two models' vectors do not compare, though they have one size.
    """

    dense: Mapping[str, int] = field(default_factory=dict)
    sparse: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    encoder: str = ""


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """`id` is a UUID string in canonical form; `payload` is JSON."""

    id: str
    vectors: Mapping[str, Vector]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    """A search result; `score` is cosine similarity, the dot product by IDF or the fused score."""

    id: str
    score: float
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A version, how many points it holds, the aliases that point at it, and which parts are in it whole.

    `fault`: why it cannot be opened, and what to do; empty if it can.
    """

    name: str
    points: int
    aliases: tuple[str, ...]
    finished: tuple[str, ...] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """`address`: the document's identity. `source`: the name of what was indexed; `place`: where that is."""

    address: str
    source: str = ""
    place: str = ""

    @property
    def payload(self) -> dict[str, str]:
        """Return its part of a point's payload."""
        return {ADDRESS: self.address, SOURCE: self.source, ORIGIN: self.place}


class VectorStore(Protocol):
    """Every call blocks and is safe from several threads. `name` may be a collection or an alias.

    Errors: `CollectionNotFound`, `CollectionConflict` (chassis.errors kinds).
    """

    def create(self, name: str, schema: CollectionSchema, base: str | None = None) -> None:
        """Make a collection, as a copy of `base` where given; one that exists already is left alone.

        All or nothing: after a crash half-way the next call starts again. Raises `CollectionConflict`
        when the collection or its base was made with another schema.
        """

    def require(self, name: str, schema: CollectionSchema, *, whole: bool = True) -> None:
        """Raises `CollectionConflict` when the collection was made with another schema.

        Not `whole`: it may hold other vectors as well. That is enough to read.
        """

    def drop(self, name: str) -> None:
        """Delete a collection that no alias points at."""

    def publish(self, alias: str, name: str) -> None:
        """Point `alias` at `name` at once; durable when the call returns."""

    def collections(self) -> list[CollectionInfo]:
        """Return every version, by name."""

    def upsert(self, name: str, points: Sequence[StoredPoint]) -> None:
        """Write points, if there are any; durable when the call returns."""

    def discard(self, name: str, keyword: str, values: Sequence[str], keep: Sequence[str] = ()) -> None:
        """Delete the points whose payload `keyword` is one of `values`, but for the ids in `keep`."""

    def missing(self, name: str, ids: Sequence[str]) -> list[str]:
        """Return those of `ids` that the collection does not hold, in order."""

    def finish(self, name: str, parts: Sequence[str]) -> None:
        """Remember which parts of its input a version holds whole; durable when the call returns.

        In place of what was remembered before; a copy of the version begins without.
        """

    def build(self, name: str) -> bool:
        """Build the index of what was written; false while that goes on elsewhere: ask again."""

    def sample(self, name: str, vector: str, count: int) -> list[tuple[str, list[float]]]:
        """Return ids and dense vectors of the `count` points with the lowest ids, a random sample."""

    def search(
        self, name: str, vector: str, query: Vector, limit: int, *, exact: bool = False
    ) -> list[ScoredPoint]:
        """Return the `limit` nearest points by the vector `vector`, best first. `exact`: without an index."""

    def search_fused(
        self, name: str, prefetches: Sequence[Prefetch], limit: int, depth: int, rank_constant: int
    ) -> list[ScoredPoint]:
        """Return the `limit` best points of several searches together, by reciprocal rank, in one query.

        Each search gives its `depth` nearest points; a point's score is the sum of
        1 / (`rank_constant` + rank) over the searches that found it, equal scores in id order.
        """

    def set_payload(self, name: str, keyword: str, value: str, fields: Mapping[str, Any]) -> None:
        """Set payload fields of the points whose payload `keyword` is `value`; durable on return."""

    def scroll(
        self,
        name: str,
        where: Fields | None = None,
        unless: Fields | None = None,
        fields: Sequence[str] | None = None,
    ) -> Iterator[ScoredPoint]:
        """Yield every point's payload, in id order (score 0).

        `where`: only points whose payload fields are among the values. `unless`: without points for which
        that holds of any field. `fields`: only these fields of the payloads.
        """

    def notes(self) -> list[str]:
        """Return the store's faults, each with a remedy."""

    def close(self) -> None:
        """Flush, and close the files or connections."""


class Indexed(Protocol):
    """An engine with collections of one schema."""

    @property
    def store(self) -> VectorStore:
        """The store of the collections."""

    @property
    def schema(self) -> CollectionSchema:
        """The schema of every collection of this engine."""

    def probe(self) -> None:
        """Do a little of the real work, or raise."""


def recall(store: VectorStore, name: str, schema: CollectionSchema, sample: int, k: int) -> float:
    """The share of `sample` points' `k` nearest others that searches find as exact ones do, in 0..1.

    Sparse vectors are always searched exactly. What is as near as the last exact one counts as found.
    """
    hits = total = 0
    for vector in schema.dense:
        for point_id, query in store.sample(name, vector, sample):
            exact = _others(store.search(name, vector, query, k + 1, exact=True), point_id, k)
            near = _others(store.search(name, vector, query, k + 1), point_id, k)
            least = exact[-1].score - 1e-6 if exact else 0.0
            total += len(exact)
            hits += sum(point.score >= least for point in near)
    return hits / total if total else 1.0


def _others(points: Sequence[ScoredPoint], point_id: str, most: int) -> list[ScoredPoint]:
    return [point for point in points if point.id != point_id][:most]


def sort_fused(points: Sequence[ScoredPoint]) -> list[ScoredPoint]:
    """Sort by score, then by id: equal scores are common, and Qdrant leaves their order to chance."""
    return sorted(points, key=lambda point: (-point.score, point.id))


def origin_of(payload: Mapping[str, Any]) -> Origin:
    """Return a point's origin."""
    return Origin(str(payload[ADDRESS]), str(payload.get(SOURCE, "")), str(payload.get(ORIGIN, "")))
