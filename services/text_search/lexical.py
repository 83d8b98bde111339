"""BM25 as sparse vectors: the engine stores saturated term weights, the store multiplies by the IDF.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
title counted as in its section 3.6 (fields with weights, one saturation).
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from chassis.vectors.port import SparseVector
from services.text_search.engine import Passage
from services.text_search.terms import Analyzer

TERMS = "terms"
"""Name of the sparse vector in every collection."""


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


class TermWeights:
    """Text to sparse vectors whose dot product, once the store has applied the IDF, is the BM25 score."""

    def __init__(self, bm25: Bm25 | None = None) -> None:
        self._bm25 = bm25 or Bm25()
        self._analyzer = Analyzer()

    def of_query(self, query: str) -> SparseVector:
        """How often each term is asked for; empty when there is no word in it."""
        return _sparse({term: float(count) for term, count in Counter(self._analyzer.terms(query)).items()})

    def of_passage(self, passage: Passage) -> SparseVector:
        """The saturated weight of each term; empty when there is no word in it."""
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
