"""Words, stems and sentences of a passage."""

import re
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*(?:[^\W\d_]+)?|[^\W_]+|[€$£¥%]")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=[\"'“(]?[A-Z0-9])|\n+")
_STEMMER = snowballstemmer.stemmer("english")


def word_set(text: str) -> frozenset[str]:
    """The words of a table written as running text."""
    return frozenset(text.split())


STOPWORDS = word_set(
    """a an the of in on at by to for from with and or but as is are was were be been being am do does did
    done has have had having it its he she they them his her their him hers this that these those there here
    i me my mine you your yours we us our what which who whom whose when where why how can could will would
    should shall may might must if then than so not no nor any some such only own same too very s t d ll re ve
    just about into over under again once also between both each more most other please tell know say see
    exactly called thing one anyone somebody someone name named hold holding looking front shown picture photo
    image"""
)


@dataclass(frozen=True, slots=True)
class Text:
    """Parallel sequences over the tokens; `sentences` are half-open token ranges, never empty."""

    words: tuple[str, ...]
    stems: tuple[str, ...]
    sentences: tuple[tuple[int, int], ...]


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Snowball (Porter 2) stem of one word, case-folded."""
    return str(_STEMMER.stemWord(word.casefold()))


def analyse(text: str) -> Text:
    """Split a passage; tokens keep their case in `words`."""
    words: list[str] = []
    sentences: list[tuple[int, int]] = []
    for sentence in _SENTENCE_END.split(text):
        found = _TOKEN.findall(sentence)
        if found:
            sentences.append((len(words), len(words) + len(found)))
            words.extend(found)
    return Text(tuple(words), tuple(map(stem, words)), tuple(sentences))


def phrase_stems(phrase: str) -> tuple[str, ...]:
    """Stems of a lexicon phrase; the wildcard `*` is kept."""
    return tuple(word if word == "*" else stem(word) for word in phrase.split())
