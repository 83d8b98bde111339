"""Text to index terms: what a question and a page must agree on to meet."""

import re
import threading
import unicodedata
from collections.abc import Iterator

import snowballstemmer

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


class Analyzer:
    """Cuts text into stemmed terms; thread-safe, with a bounded memory of stems.

    Accents and case are folded; numbers keep their decimals and lose their thousands separators. Parts
    of a compound are terms and so is the whole (`XR-200` gives `xr`, `200` and `xr200`), because
    packages, pages and OCR write them apart or together. Han and kana text gives its two-character runs.
    """

    def __init__(self, remembered_stems: int = 100_000) -> None:
        self._remembered = remembered_stems
        self._stems: dict[str, str] = {}
        self._local = threading.local()  # a snowball stemmer keeps its word in itself

    def terms(self, text: str) -> list[str]:
        """Terms in reading order, with repeats. Stopwords count only where there is nothing else."""
        words = list(_words(text))
        telling = [word for word in words if word not in STOPWORDS]
        return [self._stem(word) for word in telling or words]

    def _stem(self, word: str) -> str:
        stem = self._stems.get(word)
        if stem is not None:
            return stem
        if not hasattr(self._local, "stemmer"):
            self._local.stemmer = snowballstemmer.stemmer("english")
        stem = str(self._local.stemmer.stemWord(word))
        if len(self._stems) < self._remembered:
            self._stems[word] = stem
        return stem


def _words(text: str) -> Iterator[str]:
    folded = _fold(text)
    compound: list[str] = []
    end = -1
    for match in _PART.finditer(folded):
        if folded[end : match.start()] not in _JOINERS or end < 0:
            yield from _joined(compound)
            compound = []
        part = _normal(match.group())
        if _UNSPACED.search(part):
            yield from _bigrams(part)
        else:
            yield part
            compound.append(part)
        end = match.end()
    yield from _joined(compound)


def _joined(parts: list[str]) -> Iterator[str]:
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
