"""How a passage meets a question, as a short vector of numbers in 0..1."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from difflib import SequenceMatcher

from services.reranker.engines.answer_types import offered_types
from services.reranker.engines.question import Asked
from services.reranker.engines.text import STOPWORDS, Text
from services.reranker.lexicon import AnswerType

_NEUTRAL = 0.5
_SIMILAR_ENOUGH = 0.84
_FUZZY_LENGTH = 5
_LONGER_NAME = 0.3  # what is said of "Vexo 300 Pro" seldom holds for "Vexo 300"
_NAME_BREAKERS = frozenset({"i", "january", "february", "march", "april", "may", "june", "july", "august"})


@dataclass(frozen=True, slots=True)
class Features:
    """Every field grows with relevance, but for `rival` and `extended`.

    `joint` is the conjunction that a linear model cannot make by itself.
    """

    coverage: float
    sentence_coverage: float
    relation: float
    relation_with_type: float
    answer_type: float
    entity: float
    entity_phrase: float
    about_entity: float
    rival: float
    extended: float
    proximity: float
    joint: float

    def vector(self) -> tuple[float, ...]:
        """The fields in declaration order."""
        return astuple(self)


def measure(asked: Asked, text: Text) -> Features:
    """Compare one passage with the question; of several names the best met one counts."""
    if not text.words:
        return Features(*([0.0] * len(Features.__dataclass_fields__)))
    cues = _cue_positions(asked, text)
    candidates = [_measure(asked, name, text, cues) for name in asked.entities or ((),)]
    return max(candidates, key=lambda features: (features.joint, features.entity))


def _measure(asked: Asked, name: tuple[str, ...], text: Text, cues: Sequence[int]) -> Features:
    """Without a name the question's own terms stand in for one."""
    hits = _entity_hits(name, text)
    mentions = _mentions(name, hits, text)
    covered = _covered(asked, text.stems, bool(cues))
    best = _best_sentence(asked, name, text, cues, mentions)
    named = len(hits) / len(name) if name else covered
    extended = bool(mentions) and all(_is_extended(text, mention) for mention in mentions)
    about = (best.about if name else best.coverage) * (_LONGER_NAME if extended else 1.0)
    typed = best.relation_with_type if asked.cues else best.coverage * best.answer_type
    return Features(
        coverage=covered,
        sentence_coverage=best.coverage,
        relation=float(bool(cues)) if asked.cues else _NEUTRAL,
        relation_with_type=typed,
        answer_type=best.answer_type,
        entity=named,
        entity_phrase=float(bool(mentions)) if name else covered,
        about_entity=about,
        rival=float(bool(name) and not mentions and _has_subject(text)),
        extended=float(extended),
        proximity=_proximity(asked, hits, cues, text),
        joint=named**2 * typed * about,
    )


@dataclass(frozen=True, slots=True)
class _Sentence:
    coverage: float
    relation_with_type: float
    answer_type: float
    about: float

    def merit(self) -> float:
        return 2 * self.relation_with_type + self.about + self.coverage + 0.5 * self.answer_type


def _best_sentence(
    asked: Asked,
    name: tuple[str, ...],
    text: Text,
    cue_positions: Sequence[int],
    mentions: Sequence[tuple[int, int]],
) -> _Sentence:
    excluded = frozenset(name)
    candidates = []
    for start, end in text.sentences:
        stems = text.stems[start:end]
        cues = [p for p in cue_positions if start <= p < end]
        offered = offered_types(text, start, end, excluded)
        typed = float(bool(offered & asked.answers)) if AnswerType.TEXT not in asked.answers else _NEUTRAL
        candidates.append(
            _Sentence(
                coverage=_covered(asked, stems, bool(cues)),
                relation_with_type=(0.4 + 0.6 * typed) * float(bool(cues)),
                answer_type=typed,
                about=_about(name, text, (start, end), cues, mentions),
            )
        )
    return max(candidates, key=_Sentence.merit)


def _about(
    name: tuple[str, ...],
    text: Text,
    sentence: tuple[int, int],
    cues: Sequence[int],
    mentions: Sequence[tuple[int, int]],
) -> float:
    """1: names the entity; 0.7: goes on about it (named earlier, no other subject); 0: another subject."""
    if not name:
        return _NEUTRAL
    start, end = sentence
    if any(start <= first < end for first, _ in mentions):
        return 1.0
    named_before = any(first < start for first, _ in mentions)
    limit = min(cues) if cues else end
    other = any(
        text.words[p][0].isupper()
        and text.words[p].casefold() not in STOPWORDS
        and text.stems[p] not in name
        and p > start
        for p in range(start, limit)
    )
    if not named_before:
        return 0.0
    return 0.3 if other else 0.7


def _covered(asked: Asked, stems: Sequence[str], has_cue: bool) -> float:
    """Share of the question's content terms, by length; a stated relation counts as its phrasing."""
    if not asked.terms:
        return float(has_cue) if asked.cues else _NEUTRAL
    here = set(stems)
    total = matched = 0.0
    for term in asked.terms:
        weight = min(len(term), 8) / 8
        total += weight
        if term in here:
            matched += weight
        elif has_cue and term in asked.asked_with:
            matched += 0.9 * weight
    return matched / total


def _entity_hits(entity: Sequence[str], text: Text) -> dict[str, list[int]]:
    """Positions of each of the entity's stems; long words may differ by a letter or two, numbers may not."""
    wanted = dict.fromkeys(entity)
    hits: dict[str, list[int]] = {}
    for position, stemmed in enumerate(text.stems):
        if stemmed in wanted:
            hits.setdefault(stemmed, []).append(position)
    for part in entity:
        if part not in hits and len(part) >= _FUZZY_LENGTH and part.isalpha():
            near = [p for p, s in enumerate(text.stems) if _similar(part, s)]
            if near:
                hits[part] = near
    return hits


def _similar(left: str, right: str) -> bool:
    if abs(len(left) - len(right)) > 2 or left[0] != right[0]:
        return False
    return SequenceMatcher(None, left, right, autojunk=False).ratio() >= _SIMILAR_ENOUGH


def _mentions(name: Sequence[str], present: dict[str, list[int]], text: Text) -> list[tuple[int, int]]:
    """Token ranges in which every stem of the entity's name appears, close together."""
    if not name or len(present) < len(name):
        return []
    slack = len(name) + 2
    mentions = []
    for first in present[name[0]]:
        positions = [first]
        for part in name[1:]:
            near = [p for p in present[part] if abs(p - first) <= slack]
            if not near:
                break
            positions.append(min(near, key=lambda p: abs(p - first)))
        else:
            mentions.append((min(positions), max(positions) + 1))
    return mentions


def _is_extended(text: Text, mention: tuple[int, int]) -> bool:
    """Whether the name goes on, as in "Vexo 300 Pro" for "Vexo 300"."""
    start, end = mention
    sentence_end = next(stop for first, stop in text.sentences if first <= start < stop)
    if end >= sentence_end:
        return False
    word = text.words[end]
    named = word[0].isupper() and word.casefold() not in STOPWORDS | _NAME_BREAKERS
    return named or (word.isdigit() and len(word) < 4)


def _has_subject(text: Text) -> bool:
    """Whether the passage opens with some name."""
    return any(
        word[0].isupper() and word.casefold() not in STOPWORDS and position > 0
        for position, word in enumerate(text.words[:25])
    )


def _cue_positions(asked: Asked, text: Text) -> list[int]:
    positions = []
    for position, stemmed in enumerate(text.stems):
        for cue in asked.cues.get(stemmed, ()):
            if text.stems[position : position + len(cue)] == cue:
                positions.append(position)
                break
    return positions


def _proximity(asked: Asked, present: dict[str, list[int]], cues: Sequence[int], text: Text) -> float:
    """Density of the smallest window that holds one of each kind of match that the passage has."""
    groups: list[Sequence[int]] = [positions for positions in present.values() if positions]
    if cues:
        groups.append(cues)
    wanted = set(asked.terms)
    by_term: dict[str, list[int]] = {}
    for position, stemmed in enumerate(text.stems):
        if stemmed in wanted:
            by_term.setdefault(stemmed, []).append(position)
    groups.extend(by_term.values())
    if len(groups) < 2:
        return 0.0
    return len(groups) / max(len(groups), _smallest_window(groups))


def _smallest_window(groups: Sequence[Sequence[int]]) -> int:
    """Length of the shortest token range with a position from every group (a merge over sorted lists)."""
    events = sorted((position, group) for group, positions in enumerate(groups) for position in positions)
    counts = [0] * len(groups)
    missing, left, best = len(groups), 0, events[-1][0] + 1
    for position, group in events:
        counts[group] += 1
        missing -= counts[group] == 1
        while missing == 0:
            best = min(best, position - events[left][0] + 1)
            counts[events[left][1]] -= 1
            missing += counts[events[left][1]] == 0
            left += 1
    return best
