"""BM25 as sparse vectors: the engine stores saturated term weights, the store multiplies by the IDF.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
title counted as in its section 3.6 (fields with weights, one saturation).
"""

import hashlib
from collections import Counter
from collections.abc import Mapping

from chassis.vectors.port import SparseVector
from services.text_search.engine import Passage
from services.text_search.terms import terms

TERMS = "terms"
"""Name of the sparse vector in every collection."""


_K1, _B, _AVERAGE_LENGTH = 1.2, 0.6, 160.0
"""How fast repeats stop counting, how far length counts, and the usual length in terms.

The length is a constant and not measured: a weight must not change when others join the collection.
"""
_TITLE_WEIGHT = 2.0
"""A term in the title counts so many times."""


def query_weights(query: str) -> SparseVector:
    """Return how often the query has each term; empty if there is no word in it.

    Its dot product with `passage_weights`, once the store has applied the IDF, is the BM25 score.
    """
    return _sparse({term: float(count) for term, count in Counter(terms(query)).items()})


def passage_weights(passage: Passage) -> SparseVector:
    """Return the saturated weight of each term; empty if there is no word in it."""
    body, title = terms(passage.text), terms(passage.title)
    weighted: dict[str, float] = dict(Counter(body))
    for term in title:
        weighted[term] = weighted.get(term, 0.0) + _TITLE_WEIGHT
    length = len(body) + len(title)
    relative = 1 - _B + _B * length / _AVERAGE_LENGTH
    return _sparse({term: count * (_K1 + 1) / (count + _K1 * relative) for term, count in weighted.items()})


def _sparse(weights: Mapping[str, float]) -> SparseVector:
    """Dimensions are 32-bit hashes of the terms; two terms that collide (about 1 in 10^9 pairs) add up."""
    dimensions: dict[int, float] = {}
    for term, weight in weights.items():
        digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4).digest()
        dimension = int.from_bytes(digest, "little")
        dimensions[dimension] = dimensions.get(dimension, 0.0) + weight
    return SparseVector(tuple(dimensions), tuple(dimensions.values()))
