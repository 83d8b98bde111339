"""BM25 over sparse vectors: no model, no download.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
title counted as in its section 3.6 (fields with weights, one saturation).
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chassis.vectors.names import is_point_id
from chassis.vectors.port import CollectionSchema, ScoredPoint, SparseVector, StoredPoint, VectorStore
from services.text_search.engine import Candidate, FusedHit, Passage
from services.text_search.fusion import fuse
from services.text_search.terms import Analyzer

TERMS = "terms"
OVERFETCH = 4
"""Several of the nearest passages may be of one page, and only one of them is returned."""

_SCHEMA = CollectionSchema(sparse=(TERMS,), idf=(TERMS,), keywords=("url",))


@dataclass(frozen=True, slots=True)
class Bm25:
    """`k1`: how fast repeats stop counting; `b`: how far length counts; `average_length` in terms.

    The average is a constant and not measured: a weight must not change when others join the collection.
    A term in the title counts `title_weight` times.
    """

    k1: float = 1.2
    b: float = 0.6
    average_length: float = 160.0
    title_weight: float = 2.0


class PocketTextSearch:
    """`TextSearchEngine` by BM25. Term weights are stored; the store multiplies by the IDF."""

    def __init__(self, store: VectorStore, bm25: Bm25 | None = None) -> None:
        self._store = store
        self._bm25 = bm25 or Bm25()
        self._analyzer = Analyzer()

    @property
    def store(self) -> VectorStore:
        """Where the collections are."""
        return self._store

    @property
    def schema(self) -> CollectionSchema:
        """One sparse vector a passage."""
        return _SCHEMA

    def search(self, queries: Sequence[str], k: int, collection: str) -> list[FusedHit]:
        """See the protocol."""
        return fuse([self._rank(query, k * OVERFETCH, collection) for query in queries], k)

    def _rank(self, query: str, limit: int, collection: str) -> list[Candidate]:
        found = self._store.search(collection, TERMS, self._query_vector(query), limit)
        return [Candidate(_passage(point), point.score) for point in found]

    def index(self, collection: str, passages: Sequence[Passage]) -> Mapping[str, str]:
        """See the protocol."""
        rejected: dict[str, str] = {}
        points: list[StoredPoint] = []
        for passage in passages:
            vector = self._passage_vector(passage)
            if not is_point_id(passage.id):
                rejected[passage.id] = "The id is not a UUID in canonical form."
            elif not vector.indices:
                rejected[passage.id] = "There is no word in it."
            else:
                points.append(StoredPoint(passage.id, {TERMS: vector}, _payload(passage)))
        begun = {passage.url for passage in passages if passage.position == 0}
        if begun:
            self._store.discard(collection, "url", sorted(begun), keep=[point.id for point in points])
        if points:
            self._store.upsert(collection, points)
        return rejected

    def probe(self) -> None:
        """See the protocol."""
        self._query_vector("Who wrote it?")
        self._store.collections()

    def _query_vector(self, query: str) -> SparseVector:
        return _sparse({term: float(count) for term, count in Counter(self._analyzer.terms(query)).items()})

    def _passage_vector(self, passage: Passage) -> SparseVector:
        body, title = self._analyzer.terms(passage.text), self._analyzer.terms(passage.title)
        weighted: dict[str, float] = dict(Counter(body))
        for term in title:
            weighted[term] = weighted.get(term, 0.0) + self._bm25.title_weight
        length = len(body) + len(title)
        return _sparse({term: self._saturated(count, length) for term, count in weighted.items()})

    def _saturated(self, frequency: float, length: int) -> float:
        parameters = self._bm25
        relative = 1 - parameters.b + parameters.b * length / parameters.average_length
        return frequency * (parameters.k1 + 1) / (frequency + parameters.k1 * relative)


def _sparse(weights: Mapping[str, float]) -> SparseVector:
    """Dimensions are 32-bit hashes of the terms; two terms that collide (about 1 in 10^9 pairs) add up."""
    dimensions: dict[int, float] = {}
    for term, weight in weights.items():
        digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
        dimension = int.from_bytes(digest, "little")
        dimensions[dimension] = dimensions.get(dimension, 0.0) + weight
    return SparseVector(tuple(dimensions), tuple(dimensions.values()))


def _payload(passage: Passage) -> dict[str, Any]:
    modified = passage.last_modified.isoformat() if passage.last_modified else None
    return {
        "url": passage.url,
        "title": passage.title,
        "text": passage.text,
        "position": passage.position,
        "last_modified": modified,
    }


def _passage(point: ScoredPoint) -> Passage:
    payload = point.payload
    modified = payload.get("last_modified")
    return Passage(
        id=point.id,
        url=payload["url"],
        title=payload["title"],
        text=payload["text"],
        position=payload["position"],
        last_modified=datetime.fromisoformat(modified) if modified else None,
    )
