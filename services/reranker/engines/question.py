"""What a question asks for, in terms that can be looked up in a passage."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.reranker.engines.answer_types import wanted_type
from services.reranker.engines.text import STOPWORDS, analyse, phrase_stems, stem
from services.reranker.lexicon import RELATIONS, AnswerType

_LONGEST_GAP = 5
_GENERIC = frozenset(
    map(stem, "what which kind sort type number many much long old year date time day place make get go".split())
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question taken apart.

    `entity`: stems of the thing's name in order; `terms`: content stems that are neither the entity's
    nor part of the relation's phrasing; `asked_with`: stems of the matched phrasing; `cues`: stem
    phrases that state the relation, by their first stem.
    """

    entity: tuple[str, ...]
    entity_is_given: bool
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
            _Phrasing(stems, sum(part != "*" for part in stems)) for stems in map(phrase_stems, item.asks)
        )
        cues = tuple(sorted(map(phrase_stems, item.cues), key=len, reverse=True))
        entries.append(_Entry(item.answer, asks, cues))
    return tuple(entries)


class QuestionReader:
    """Holds the lexicon in stemmed form, so that a question is read in well under a millisecond."""

    def __init__(self) -> None:
        self._entries = _compile()

    def read(self, question: str, entity: str | None) -> Asked:
        """Take `question` apart; without an `entity` its capitalised words stand for one."""
        text = analyse(question)
        name = _given_entity(entity) or _named_in(text.words)
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
            entity=name,
            entity_is_given=bool(_given_entity(entity)),
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
        kept = [item for item in scored if item[0] >= top - 1][:6]
        return [entry for _, entry, _ in kept], {part for _, _, ask in kept for part in ask.stems}


def _given_entity(entity: str | None) -> tuple[str, ...]:
    if not entity:
        return ()
    text = analyse(entity)
    kept = [s for w, s in zip(text.words, text.stems, strict=True) if w.casefold() not in STOPWORDS]
    return tuple(dict.fromkeys(kept or text.stems))


def _named_in(words: Sequence[str]) -> tuple[str, ...]:
    names = [
        stem(word)
        for position, word in enumerate(words)
        if (position > 0 and word[0].isupper() and word.casefold() not in STOPWORDS)
        or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
    ]
    return tuple(dict.fromkeys(names))


def _occurs(pattern: Sequence[str], stems: Sequence[str]) -> bool:
    return any(_matches_at(pattern, stems, start) for start in range(len(stems)) if stems[start] == pattern[0])


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
