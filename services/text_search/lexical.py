"""BM25 as sparse vectors: the engine stores saturated term weights, the store multiplies by the IDF.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
title counted as in its section 3.6 (fields with weights, one saturation).
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping

from chassis.vectors.port import SparseVector
from language.words import stem
from services.text_search.engine import Passage

TERMS = "terms"
"""Name of the sparse vector in every collection."""


_K1, _B, _AVERAGE_LENGTH = 1.2, 0.6, 160.0
"""BM25's k1 and b, and the average length in terms.

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


STOPWORDS = frozenset(
    """
    a am an and are as at be been being but by can could did do does for from had has have he her
    hers him his how i if in into is it its itself me my no nor not of off on onto or our ours out
    over she should so such than that the their theirs them then there these they this those to too
    up us very was we were what when where which while who whom whose why will with would you your
    yours
    """.split()  # noqa: SIM905 - prose is easier to keep than a list of strings
)

_PART = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")
_JOINERS = frozenset({"", "-", "‐", "‑", "–", "/"})
_MOST_JOINED = 4
_THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""Scripts written without spaces between words."""


def terms(text: str) -> list[str]:
    """Return the stemmed terms in reading order, with repeats. Stopwords count only if there is nothing else.

    Accents and case are folded; numbers keep their decimals and lose their thousands separators. Parts
    of a compound are terms and so is the whole (`XR-200` gives `xr`, `200` and `xr200`), because
    packages, pages and OCR write them apart or together. Han and kana text gives its two-character runs.
    """
    words = list(_words(text))
    content_words = [word for word in words if word not in STOPWORDS]
    return [stem(word) for word in content_words or words]


def _words(text: str) -> Iterator[str]:
    folded = _fold(text)
    compound: list[str] = []
    end = -1
    for match in _PART.finditer(folded):
        if folded[end : match.start()] not in _JOINERS or end < 0:
            yield from _join(compound)
            compound = []
        part = _normal(match.group())
        if _UNSPACED.search(part):
            yield from _bigrams(part)
        else:
            yield part
            compound.append(part)
        end = match.end()
    yield from _join(compound)


def _join(parts: list[str]) -> Iterator[str]:
    if 1 < len(parts) <= _MOST_JOINED:
        yield "".join(parts)


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for start in range(len(run) - 1):
        yield run[start : start + 2]


def _normal(part: str) -> str:
    if part[0].isdigit():
        return _THOUSANDS.sub("", part).replace(",", ".")
    return part.replace("’", "'").removesuffix("'s").replace("'", "")


def _fold(text: str) -> str:
    """Compatibility forms, accents and case folded away: `Ａ`, `é` and `ß` become `a`, `e` and `ss`."""
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare).casefold()
