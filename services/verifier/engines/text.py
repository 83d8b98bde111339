"""Words with their places, stems and sentences."""

import re
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'“(]?[^\W_a-z])|\n+|(?<=;)\s+")
_STEMMER = snowballstemmer.stemmer("english")


def word_set(text: str) -> frozenset[str]:
    """The words of a table written as running text."""
    return frozenset(text.split())


STOPWORDS = word_set(
    """a an the of in on at by to for from with and or but as is are was were be been being am do does did
    done has have had having it its it's he she they them his her their him hers this that that's these those
    there there's here i me my mine you your yours we us our what which who whom whose when where why how can
    could will would should shall may might must if then than so such too very just about into over under
    again also between both each more most other some any own same s yes no not"""
)


@dataclass(frozen=True, slots=True)
class Word:
    """`text[start:end]` and its stem."""

    text: str
    stem: str
    start: int
    end: int

    @property
    def is_content(self) -> bool:
        """Whether the word says something by itself."""
        return self.text.casefold() not in STOPWORDS


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Snowball (Porter 2) stem, case-folded, without a possessive."""
    plain = re.sub(r"['’]s?$", "", word.casefold())
    return str(_STEMMER.stemWord(plain))


def words_of(text: str) -> tuple[Word, ...]:
    """The words of a text in order."""
    return tuple(Word(m.group(), stem(m.group()), m.start(), m.end()) for m in _WORD.finditer(text))


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Half-open character ranges of the sentences (or lines), trimmed, none empty."""
    ranges, start = [], 0
    for end, following in [*((m.start(), m.end()) for m in _SENTENCE_END.finditer(text)), (len(text), 0)]:
        piece = text[start:end]
        left = start + len(piece) - len(piece.lstrip())
        right = start + len(piece.rstrip())
        if left < right:
            ranges.append((left, right))
        start = following
    return ranges
