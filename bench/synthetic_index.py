"""Points that are like those of real pages and photos in what a search feels, however many are wanted.

Dense: 2,000 topics in a space of 32 dimensions, a point near one of them, turned into the full size by one
random matrix, with 6 % of its energy as noise in every direction. Uniform noise would not do: in a
thousand dimensions all of it is equally far from everything, and no index finds neighbours that are none.
A query lies near a point (cosine .86) and is none. Terms: 100 draws of a Zipf-Mandelbrot law over 200,000
words without the 100 most frequent, which are the stopwords; BM25's weights. A query asks for four words
of one passage. Everything follows from the seed and comes in blocks, so that memory is bounded.
"""

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from chassis.vectors.port import SparseVector
from services.text_search.lexical import Bm25, TermWeights

Floats = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.int64]

BLOCK = 2_000
NEAREST = 30
_TOPICS, _LATENT = 2_000, 32
_SPREAD, _NOISE, _QUERY_NOISE = 0.7, 0.3, 0.6
_WORDS, _DRAWS, _STOPWORDS, _OFFSET = 200_000, 100, 100, 2.7
_LETTERS = "bcfgkmpqvxz"
"""No vowels: the stemmer leaves such words alone."""


def point_id(number: int, salt: str = "") -> str:
    """A UUID in no order, as ids made from content are."""
    return str(uuid.UUID(bytes=hashlib.blake2b(f"{salt}{number}".encode(), digest_size=16).digest()))


@dataclass(frozen=True)
class Meanings:
    """Unit vectors of `size` dimensions."""

    size: int
    seed: int = 1

    @cached_property
    def _basis(self) -> tuple[Floats, Floats]:
        draw = np.random.default_rng([self.seed, 0])
        topics = draw.standard_normal((_TOPICS, _LATENT), np.float32)
        return topics, draw.standard_normal((_LATENT, self.size), np.float32) / np.float32(_LATENT**0.5)

    def block(self, number: int) -> Floats:
        """(BLOCK, size)"""
        topics, turned = self._basis
        draw = np.random.default_rng([self.seed, 1, number])
        near = topics[draw.integers(0, _TOPICS, BLOCK)]
        latent = near + np.float32(_SPREAD) * draw.standard_normal(near.shape, np.float32)
        noise = draw.standard_normal((BLOCK, self.size), np.float32)
        return _unit(latent @ turned + np.float32(_NOISE) * noise)

    def queries(self, count: int) -> Floats:
        """(count, size), at most BLOCK, each near a point of the first block."""
        draw = np.random.default_rng([self.seed, 2])
        near = self.block(0)[draw.permutation(BLOCK)[:count]]
        noise = draw.standard_normal(near.shape, np.float32)
        return _unit(near + np.float32(_QUERY_NOISE / self.size**0.5) * noise)


@dataclass(frozen=True, slots=True)
class TermBlock:
    """The terms of BLOCK passages, one after the other: passage i has `words[starts[i]:starts[i + 1]]`."""

    words: Numbers
    weights: Floats
    starts: Numbers


@dataclass(frozen=True)
class Terms:
    """BM25 vectors of passages and the questions that ask for them."""

    seed: int = 1

    @cached_property
    def vocabulary(self) -> list[str]:
        """Rank -> word."""
        base = len(_LETTERS)
        places = [base**place for place in range(5, -1, -1)]
        return ["".join(_LETTERS[rank // place % base] for place in places) for rank in range(_WORDS)]

    @cached_property
    def dimensions(self) -> Numbers:
        """Rank -> dimension, by the service's own hash."""
        weights = TermWeights()
        return np.array([weights.of_query(word).indices[0] for word in self.vocabulary], np.int64)

    @cached_property
    def _cumulative(self) -> npt.NDArray[np.float64]:
        frequencies = 1 / (np.arange(_WORDS) + 1 + _STOPWORDS + _OFFSET)
        return np.cumsum(frequencies / frequencies.sum())

    def block(self, number: int) -> TermBlock:
        """The block of this number."""
        draw = np.random.default_rng([self.seed, 3, number]).random((BLOCK, _DRAWS))
        drawn = np.minimum(np.searchsorted(self._cumulative, draw), _WORDS - 1)
        keys = drawn + np.arange(BLOCK)[:, None] * _WORDS
        distinct, counts = np.unique(keys, return_counts=True)
        bm25 = Bm25()
        relative = 1 - bm25.b + bm25.b * _DRAWS / bm25.average_length
        weights = counts * (bm25.k1 + 1) / (counts + bm25.k1 * relative)
        starts = np.searchsorted(distinct, np.arange(BLOCK + 1) * _WORDS)
        return TermBlock(distinct % _WORDS, weights.astype(np.float32), starts)

    def sparse(self, block: TermBlock) -> Iterator[SparseVector]:
        """As the service writes them."""
        dimensions = self.dimensions[block.words].tolist()
        weights = block.weights.tolist()
        starts = block.starts.tolist()
        for start, end in pairwise(starts):
            yield SparseVector(tuple(dimensions[start:end]), tuple(weights[start:end]))

    def queries(self, count: int) -> Numbers:
        """(count, 4) words by rank, at most BLOCK, each four of one passage of the first block."""
        block = self.block(0)
        draw = np.random.default_rng([self.seed, 4])
        return np.stack(
            [
                draw.choice(block.words[block.starts[number] : block.starts[number + 1]], 4, replace=False)
                for number in draw.permutation(BLOCK)[:count]
            ]
        )

    def text(self, words: Numbers) -> str:
        """The question that asks for these words."""
        return " ".join(self.vocabulary[word] for word in words)


class NearestScores:
    """The NEAREST best exact scores of each query, over blocks that come one after the other."""

    def __init__(self, queries: int) -> None:
        self.best = np.full((queries, NEAREST), -np.inf, np.float32)

    def add(self, scores: Floats) -> None:
        """(queries, any number)"""
        both = np.concatenate([self.best, scores], axis=1)
        self.best = np.partition(both, both.shape[1] - NEAREST, axis=1)[:, -NEAREST:]

    @property
    def least(self) -> Floats:
        """(queries,): what scores less is not among the nearest."""
        least: Floats = self.best.min(axis=1)
        return least


def _unit(rows: Floats) -> Floats:
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
