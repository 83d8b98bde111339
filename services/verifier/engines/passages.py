"""The evidence, cut into sentences that know what they say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.verifier.engines.concepts import concept
from services.verifier.engines.dates import Date, dates_of
from services.verifier.engines.names import folded, name_runs
from services.verifier.engines.polarity import stances
from services.verifier.engines.quantities import Quantity, quantities_of
from services.verifier.engines.text import sentences_of, words_of
from services.verifier.engines.weekdays import weekdays_of

_MOST_SENTENCES = 64
_NUMBER_WEIGHT = 3  # a number says more about where to look than a word
_HOURS = re.compile(r"\b\d{1,2}[:.]\d\d\s?[-–—]\s?\d{1,2}[:.]\d\d\b")
_LIST_NUMBER = re.compile(r"\d{1,2}[.)]\s")


@dataclass(frozen=True, slots=True)
class Facts:
    """What a piece of text states, with places relative to that piece; `pairs`: words in a row."""

    text: str
    stems: frozenset[str]
    concepts: frozenset[str]
    folded_words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    quantities: tuple[Quantity, ...]
    dates: tuple[Date, ...]
    stances: dict[str, bool]
    has_names: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """`evidence[evidence_index][start:end]`.

    `context`, `title_words`: stems and folded words of its passage's first sentence (a page's title).
    """

    evidence_index: int
    start: int
    end: int
    facts: Facts
    context: frozenset[str]
    title_words: frozenset[str]
    passage_words: frozenset[str]


def facts_of(text: str) -> Facts:
    """Read one piece of text."""
    words = words_of(text)
    dates = dates_of(text)
    spelled = spelled_words(text)
    return Facts(
        text=text,
        stems=frozenset(word.stem for word in words),
        concepts=frozenset(concept(word.stem) for word in words),
        folded_words=frozenset(spelled),
        pairs=frozenset(pairwise(spelled)),
        quantities=tuple(quantities_of(text, [(date.start, date.end) for date in dates])),
        dates=tuple(dates),
        stances=_open_at_hours(text, stances(text)),
        has_names=bool(name_runs(text)),
    )


def _open_at_hours(text: str, said: dict[str, bool]) -> dict[str, bool]:
    """A timetable says "open" by giving hours."""
    return said if "open" in said or not _HOURS.search(text) else {**said, "open": True}


def sentences_in(evidence: Sequence[str], wanted: str) -> list[Sentence]:
    """The sentences of all passages, in order; of very many those that share most words with `wanted`."""
    words = {
        folded(word.text): _NUMBER_WEIGHT if word.text.isdigit() else 1
        for word in words_of(wanted)
        if word.is_content
    }
    places = [(index, *place) for index, passage in enumerate(evidence) for place in _with_figures(passage)]
    if len(places) > _MOST_SENTENCES:
        shared = [
            sum(words.get(word, 0) for word in set(spelled_words(evidence[i][start:end])))
            for i, start, end in places
        ]
        best_first = sorted(range(len(places)), key=lambda number: -shared[number])
        places = [places[number] for number in sorted(best_first[:_MOST_SENTENCES])]
    openings: dict[int, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {}
    result = []
    for index, start, end in places:
        if index not in openings:
            openings[index] = _opening(evidence[index])
        result.append(Sentence(index, start, end, facts_of(evidence[index][start:end]), *openings[index]))
    return result


def _opening(passage: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Stems of the first sentence's content words; its words, folded; all words, folded."""
    start, end = sentences_of(passage)[0]
    first = frozenset(word.stem for word in words_of(passage[start:end]) if word.is_content)
    return first, frozenset(spelled_words(passage[start:end])), frozenset(spelled_words(passage))


def spelled_words(text: str) -> list[str]:
    """The words as they are compared: folded, in order."""
    return [folded(word.text) for word in words_of(text)]


def _with_figures(passage: str) -> list[tuple[int, int]]:
    """Sentences; figures alone ("12.50", "10:00-18:00") belong to the line before, "closed" to its day."""
    ranges: list[tuple[int, int]] = []
    for start, end in sentences_of(passage):
        piece = passage[start:end]
        figures = not any(map(str.isalpha, piece)) and not _LIST_NUMBER.match(piece)
        if ranges and (figures or (_is_label(passage[slice(*ranges[-1])]) and not _is_label(piece))):
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def _is_label(line: str) -> bool:
    """Whether the line is nothing but days of the week."""
    left = line
    for start, end, _ in weekdays_of(line):
        left = left[:start] + " " * (end - start) + left[end:]
    return left != line and not any(map(str.isalnum, left.replace(" and ", " ")))
