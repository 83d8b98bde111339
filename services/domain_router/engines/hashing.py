"""Text to sparse features by the hashing trick (Weinberger et al., 2009); stable across runs and machines."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W_]+")
_CHARACTER_NGRAMS = (3, 4, 5)
_MOST_RECOGNIZED_WORDS = 40
_QUESTION, _CHARACTERS, _RECOGNIZED = 1.0, 0.7, 0.5  # lengths of the three groups


@dataclass(frozen=True, slots=True)
class SparseRow:
    """`values[i]` in dimension `indices[i]`; indices are sorted and unique."""

    indices: NDArray[np.int64]
    values: NDArray[np.float64]


def features(question: str, recognized_text: str, buckets: int) -> SparseRow:
    """Word 1- and 2-grams and character 3- to 5-grams of the question, words of the recognised text.

    The three groups are scaled apart, so that a long menu cannot drown the question.
    """
    words = _WORD.findall(question.casefold())
    seen = _WORD.findall(recognized_text.casefold())[:_MOST_RECOGNIZED_WORDS]
    groups = (
        (_QUESTION, _word_ngrams(words)),
        (_CHARACTERS, _character_ngrams(words)),
        (_RECOGNIZED, (f"o:{word}" for word in seen)),
    )
    totals: dict[int, float] = {}
    for weight, names in groups:
        counts: dict[int, float] = {}
        for name in names:
            bucket, sign = _bucket(name, buckets)
            counts[bucket] = counts.get(bucket, 0.0) + sign
        norm = float(np.sqrt(sum(value * value for value in counts.values()))) or 1.0
        for bucket, value in counts.items():
            totals[bucket] = totals.get(bucket, 0.0) + weight * value / norm
    indices = np.array(sorted(totals), dtype=np.int64)
    values = np.array([totals[int(index)] for index in indices], dtype=np.float64)
    return SparseRow(indices, values)


def _word_ngrams(words: list[str]) -> Iterator[str]:
    yield from (f"w:{word}" for word in words)
    framed = ["^", *words, "$"]
    yield from (f"b:{first} {second}" for first, second in pairwise(framed))


def _character_ngrams(words: list[str]) -> Iterator[str]:
    for word in words:
        padded = f" {word} "
        for length in _CHARACTER_NGRAMS:
            yield from (f"c:{padded[i : i + length]}" for i in range(len(padded) - length + 1))


def _bucket(name: str, buckets: int) -> tuple[int, float]:
    value = zlib.crc32(name.encode())
    return value % buckets, 1.0 if value & 0x80000000 else -1.0
