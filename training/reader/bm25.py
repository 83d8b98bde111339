"""BM25 over texts in memory, for measuring without a store."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from services.text_search.lexical import terms


class Bm25:
    """Rank texts by BM25 (Robertson and Zaragoza, 2009), with the terms that the text search uses."""

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.6) -> None:
        counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([sum(each.values()) for each in counts])
        factors = k1 * (1 - b + b * lengths / lengths.mean())
        self._weights: dict[str, dict[int, float]] = {}
        for place, count_of in enumerate(counts):
            for term, count in count_of.items():
                weight = count * (k1 + 1) / (count + factors[place])
                self._weights.setdefault(term, {})[place] = weight
        self._size = len(texts)

    def best(self, query: str, count: int) -> list[int]:
        """Return the places of the best texts, best first."""
        scores = np.zeros(self._size)
        for term in sorted(set(terms(query))):
            having = self._weights.get(term, {})
            idf = math.log(1 + (self._size - len(having) + 0.5) / (len(having) + 0.5))
            for place, weight in having.items():
                scores[place] += idf * weight
        return [int(place) for place in np.argsort(-scores, kind="stable")[:count]]
