"""What a question asks for, in terms that can be looked up in a passage."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.reranker.engines.answer_types import wanted_type
from services.reranker.engines.text import STOPWORDS, analyse, phrase_stems, stem, word_set
from services.reranker.lexicon import RELATIONS, AnswerType

_LONGEST_GAP = 8
_GENERIC = frozenset(
    map(
        stem,
        word_set("what which kind sort type number many much long old year date time day place make get go"),
    )
)
_COMPARISON = re.compile(r"\b(?:or|than|versus|vs|both|compared|between)\b", re.IGNORECASE)
_SMALL_WORDS = word_set("a an the of in on at and or to for by s de la le di da von van der")
_BREAKS = word_set("and or to by at on for in")
_CALENDAR = word_set(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays january february march april may june july august september october november
    december"""
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question taken apart.

    `entities`: stems, in order, of each name that a passage may be about (two in a comparison, none when
    nothing is named); `terms`: the other content stems; `asked_with`: stems of the matched phrasing;
    `cues`: stem phrases that state the relation, by their first stem.
    """

    entities: tuple[tuple[str, ...], ...]
    terms: tuple[str, ...]
    asked_with: frozenset[str]
    cues: dict[str, tuple[tuple[str, ...], ...]]
    answers: frozenset[AnswerType]


@dataclass(frozen=True, slots=True)
class _Phrasing:
    stems: tuple[str, ...]
    weight: int


@dataclass(frozen=True, slots=True)
class _Entry:
    answer: AnswerType
    asks: tuple[_Phrasing, ...]
    cues: tuple[tuple[str, ...], ...]


def _compile() -> tuple[_Entry, ...]:
    entries = []
    for item in RELATIONS:
        asks = tuple(
            _Phrasing(phrase_stems(ask), sum(map(_informativeness, ask.split()))) for ask in item.asks
        )
        cues = tuple(sorted(map(phrase_stems, item.cues), key=len, reverse=True))
        entries.append(_Entry(item.answer, asks, cues))
    return tuple(entries)


def _informativeness(word: str) -> int:
    """Content words tell relations apart better than "who" or "is"."""
    return 0 if word == "*" else 1 if word in STOPWORDS else 2


class QuestionReader:
    """Holds the lexicon in stemmed form, so that a question is read in well under a millisecond."""

    def __init__(self) -> None:
        self._entries = _compile()

    def read(self, question: str, entity: str | None) -> Asked:
        """Take `question` apart; without an `entity` its capitalised words stand for one."""
        text = analyse(question)
        names = _names(text.words, question, entity)
        name = {part for parts in names for part in parts}
        matched, consumed = self._relations(text.stems)
        answers = {wanted_type(question)} | {entry.answer for entry in matched}
        if len(answers) > 1:
            answers.discard(AnswerType.TEXT)
        cues: dict[str, tuple[tuple[str, ...], ...]] = {}
        for entry in matched:
            for cue in entry.cues:
                cues[cue[0]] = (*cues.get(cue[0], ()), cue)
        terms = [
            stemmed
            for word, stemmed in zip(text.words, text.stems, strict=True)
            if word.casefold() not in STOPWORDS and stemmed not in name and stemmed not in _GENERIC
        ]
        return Asked(
            entities=names,
            terms=tuple(dict.fromkeys(terms)),
            asked_with=frozenset(consumed),
            cues=cues,
            answers=frozenset(answers),
        )

    def _relations(self, stems: Sequence[str]) -> tuple[list[_Entry], set[str]]:
        """Entries whose longest phrasing matches best; ties stay together."""
        scored: list[tuple[int, _Entry, _Phrasing]] = []
        for entry in self._entries:
            hits = [ask for ask in entry.asks if _occurs(ask.stems, stems)]
            if hits:
                best = max(hits, key=lambda ask: ask.weight)
                scored.append((best.weight, entry, best))
        if not scored:
            return [], set()
        top = max(weight for weight, _, _ in scored)
        kept = [item for item in scored if item[0] == top]
        return [entry for _, entry, _ in kept], {part for _, _, ask in kept for part in ask.stems}


def _names(words: Sequence[str], question: str, entity: str | None) -> tuple[tuple[str, ...], ...]:
    """The given entity first; names in the question count without one, or beside it in a comparison."""
    given = _name_stems(analyse(entity).words) if entity else ()
    if given and not _COMPARISON.search(question):
        return (given,)
    runs = [_name_stems(run) for run in _capitalised_runs(words)]
    if not given:
        return tuple(dict.fromkeys(runs))
    others = [run for run in runs if not set(run) <= set(given)]
    return (given, *dict.fromkeys(others))


def _name_stems(words: Sequence[str]) -> tuple[str, ...]:
    stems = tuple(stem(word) for word in words if word.casefold() not in _SMALL_WORDS)
    return tuple(dict.fromkeys(stems or map(stem, words)))


def _capitalised_runs(words: Sequence[str]) -> list[list[str]]:
    """Runs of name-like words; a question's first word is one only if it is no ordinary opener."""
    runs: list[list[str]] = [[]]
    opener_is_name = len(words) > 1 and _is_name_like(words[1])
    for position, word in enumerate(words):
        starts = word.casefold() not in STOPWORDS and (position > 0 or opener_is_name)
        goes_on = bool(runs[-1]) and word in _SMALL_WORDS - _BREAKS
        if goes_on or (_is_name_like(word) and (runs[-1] or starts)):
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    trimmed = [_without_tail(run) for run in runs]
    return [run for run in trimmed if run]


def _without_tail(run: list[str]) -> list[str]:
    while run and run[-1].casefold() in _SMALL_WORDS:
        run = run[:-1]
    return run


def _is_name_like(word: str) -> bool:
    mixed = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    return (word[0].isupper() or mixed) and word.casefold() not in _CALENDAR


def _occurs(pattern: Sequence[str], stems: Sequence[str]) -> bool:
    return any(
        _matches_at(pattern, stems, start) for start in range(len(stems)) if stems[start] == pattern[0]
    )


def _matches_at(pattern: Sequence[str], stems: Sequence[str], start: int) -> bool:
    position, gap_allowed = start, 0
    for part in pattern:
        if part == "*":
            gap_allowed = _LONGEST_GAP
            continue
        limit = min(len(stems), position + gap_allowed + 1)
        while position < limit and stems[position] != part:
            position += 1
        if position >= limit:
            return False
        position, gap_allowed = position + 1, 0
    return True
