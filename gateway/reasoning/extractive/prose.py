"""Reads one sentence of prose for one relation: candidate values and how surely it states them."""

import re
from collections.abc import Iterator
from functools import lru_cache

from gateway.reasoning.extractive.lexical import fold, mentions, words
from gateway.reasoning.extractive.naming import is_part_of, looks_like_person, name_spans
from gateway.reasoning.extractive.relation import Answer, Relation
from gateway.reasoning.extractive.targets import LABELS
from gateway.reasoning.extractive.values import Kind, Value, find_values

_TYPED = {
    Answer.DATE: Kind.DATE,
    Answer.MONEY: Kind.MONEY,
    Answer.QUANTITY: Kind.QUANTITY,
    Answer.NUMBER: Kind.NUMBER,
    Answer.PERCENT: Kind.PERCENT,
    Answer.PHONE: Kind.PHONE,
    Answer.HOURS: Kind.TIME,
    Answer.WEEKDAY: Kind.WEEKDAY,
}
_WORK_NOUN = (
    r"(?:novel|book|story|tale|painting|picture|canvas|work|masterpiece|portrait|landscape|oil|piece|"
    r"poem|play|song|album|film|memoir|thriller|debut|volume|title|guide|biography|collection|"
    r"composition|watercolou?r|sculpture)"
)
_CREATORS = frozenset(
    {
        "author",
        "painter",
        "composer",
        "director",
        "sculptor",
        "photographer",
        "creator",
        "designer",
        "illustrator",
    }
)
_SOFT = frozenset(
    [
        "first",
        "also",
        "originally",
        "later",
        "has",
        "had",
        "have",
        "is",
        "was",
        "were",
        "been",
        "then",
        "once",
        "famously",
        "personally",
        "being",
        "since",
    ]
)
_WEAK_CUES = frozenset(
    [
        "set",
        "run",
        "runs",
        "from",
        "on",
        "act",
        "acts",
        "found",
        "in",
        "home",
        "long",
        "date",
        "when",
        "where",
        "act",
    ]
)


@lru_cache(maxsize=512)
def cue_pattern(relation: Relation) -> re.Pattern[str]:
    """Anything that announces the relation in a sentence: its verbs, nouns and cues."""
    phrases = [p for p in (*relation.verbs, *relation.nouns) if p not in _WEAK_CUES and len(p) > 2]
    escaped = [re.escape(p).replace(r"\ ", r"\s+") for p in sorted(phrases, key=len, reverse=True)]
    branches = [rf"\b(?:{'|'.join(escaped)})\b"] if escaped else []
    branches += [cue for cue in relation.cues]
    return re.compile("|".join(f"(?:{b})" for b in branches) or r"(?!)", re.I)


def prose_values(relation: Relation, sentence: str, subject: str) -> Iterator[tuple[Value, float]]:
    """Candidate values with a strength in 0..1; nothing when the sentence does not speak of the relation."""
    own = _spans_of(subject, sentence)
    spans = (m.span() for m in cue_pattern(relation).finditer(sentence))
    cues = [(s, e) for s, e in spans if not any(a <= s and e <= b for a, b in own)]
    if relation.answer in _TYPED:
        yield from _typed(relation, sentence, subject, cues)
    elif relation.answer is Answer.PERSON or (relation.answer is Answer.NAME and relation.wh == "who"):
        yield from _agents(relation, sentence, subject)
    elif relation.answer is Answer.PLACE:
        yield from _places(relation, sentence, subject, cues)
    elif relation.answer is Answer.NAME:
        yield from _named(relation, sentence, subject, cues)
    else:
        yield from _phrases(relation, sentence, cues)


def _spans_of(subject: str, sentence: str) -> list[tuple[int, int]]:
    """Where the subject's name stands: words inside a name announce nothing ("Tea House")."""
    local = subject.split(",")[0]
    if not local:
        return []
    return [m.span() for m in re.finditer(re.escape(local), sentence, re.I)]


def _typed(
    relation: Relation, sentence: str, subject: str, cues: list[tuple[int, int]]
) -> Iterator[tuple[Value, float]]:
    found = [
        v for v in find_values(sentence, _TYPED[relation.answer]) if not _inside_subject(v, sentence, subject)
    ]
    if not found and relation.answer is Answer.NUMBER:
        found = [v for v in find_values(sentence, Kind.QUANTITY) if not _inside_subject(v, sentence, subject)]
    if relation.answer is Answer.QUANTITY and relation.dimension:
        found = [v for v in found if v.dimension == relation.dimension]
    if relation.answer is Answer.NUMBER:
        found = [v for v in found if not _is_year(v, sentence)]
    for value in found:
        closeness = max((_closeness(value, cue, sentence, found) for cue in cues), default=0.0)
        if closeness > 0:
            yield value, closeness


def _is_year(value: Value, sentence: str) -> bool:
    """Whether a bare number is a year ("since 1953") and so counts nothing."""
    before = re.search(r"\b(?:in|since|from|until|of|by)\s+$", sentence[: value.start], re.I)
    return before is not None and re.fullmatch(r"1[5-9]\d\d|20\d\d", value.text) is not None


def _inside_subject(value: Value, sentence: str, subject: str) -> bool:
    """Whether the number is part of the thing's own name ("Model 300")."""
    at = fold(sentence).find(fold(subject)) if len(fold(sentence)) == len(sentence) else -1
    return at >= 0 and at <= value.start and value.end <= at + len(subject)


def _closeness(value: Value, cue: tuple[int, int], sentence: str, others: list[Value]) -> float:
    """1 next to the cue, less with words, clause borders and rival values between."""
    if value.start < cue[1] and cue[0] < value.end:
        return 1.0
    left, right = (cue[1], value.start) if cue[1] <= value.start else (value.end, cue[0])
    between = sentence[left:right]
    rivals = sum(1 for o in others if o is not value and left <= o.start and o.end <= right)
    gap = len(words(between))
    score = 1.0 - 0.035 * gap - 0.3 * rivals - 0.12 * len(re.findall(r"[,;:–—]| and | but | while ", between))
    nearest = min((_gap(o, cue) for o in others if o is not value), default=99)
    if nearest < _gap(value, cue):
        score -= 0.25
    return max(0.0, min(1.0, score))


def _gap(value: Value, cue: tuple[int, int]) -> int:
    if value.start < cue[1] and cue[0] < value.end:
        return 0
    return value.start - cue[1] if cue[1] <= value.start else value.end and cue[0] - value.end + 2


def _names(sentence: str, subject: str) -> list[Value]:
    return [v for v in name_spans(sentence) if not is_part_of(v.text, subject)]


def _agents(relation: Relation, sentence: str, subject: str) -> Iterator[tuple[Value, float]]:
    """Who did it: `written by N`, `N wrote`, `the author, N`, `N's <work>`, `a novel by N`."""
    person = relation.answer is Answer.PERSON
    verbs = (
        "|".join(re.escape(v).replace(r"\ ", r"\s+") for v in sorted(relation.verbs, key=len, reverse=True))
        or "(?!)"
    )
    nouns = "|".join(
        re.escape(n).replace(r"\ ", r"\s+")
        for n in sorted(relation.nouns, key=len, reverse=True)
        if not n.endswith(" by")
    )
    if relation.name == "owner" and _of_a_part(sentence):
        return
    candidates = _names(sentence, subject)
    people = [v for v in candidates if not person or looks_like_person(v.text)]
    cued = re.search("|".join(relation.cues), sentence, re.I) if relation.cues else None
    if cued and len(people) == 1:
        yield people[0], 0.8
        return
    for value in candidates:
        if person and not looks_like_person(value.text) and len(value.text.split()) > 1:
            continue
        before, after = sentence[: value.start], sentence[value.end :]
        strength = _agent_strength(relation, before, after, verbs, nouns, subject)
        if strength:
            yield value, strength * (0.8 if person and len(value.text.split()) == 1 else 1.0)


def _of_a_part(sentence: str) -> bool:
    """Whether what "belongs to" somebody is only a part of the thing ("the stove belongs to")."""
    part = re.search(r"\b(?:the|its) ([a-z]+) belong(?:s|ed)? to\b", sentence, re.I)
    return part is not None and part.group(1).lower() not in LABELS


def _agent_strength(
    relation: Relation, before: str, after: str, verbs: str, nouns: str, subject: str
) -> float:
    tests: list[tuple[str, str, float]] = [
        (rf"\b(?:{verbs})\b[^.;]{{0,40}}?\bby\s+(?:(?:the|an?)\s+(?:[\w-]+\s+){{0,4}})?$", "", 1.0),
        (
            (
                rf"\b(?:{nouns})(?:\s+of\s+[^.;,]{{1,60}})?\s*(?:,|:|\bis\b|\bwas\b|\bare\b|"
                rf"\bbeing\b)\s*(?:the\s+|an?\s+)?(?:[\w-]+\s+){{0,3}}$"
            ),
            "",
            0.95,
        ),
        (rf"\b(?:{nouns})\s+$", "", 0.92),
        (
            r"",
            rf"^,?\s*(?:who|which|that)?\s*(?:{'|'.join(_SOFT)}\s+)*(?:{verbs})\b(?!\s+(?:by|in|on|at)\b)",
            0.95,
        ),
        (r"", rf"^\s*(?:,|is|was|—|-|\()\s*(?:the\s+|an?\s+|its\s+)?(?:[\w-]+\s+){{0,3}}(?:{nouns})\b", 0.9),
    ]
    for left, right, strength in tests:
        if (not left or re.search(left, before, re.I)) and (not right or re.search(right, after, re.I)):
            return strength
    if relation.name in _CREATORS:
        if re.search(rf"\b{_WORK_NOUN}\s+by\s+$", before, re.I) or (
            re.search(r"\bby\s+$", before) and mentions(before[-len(subject) - 30 :], subject)
        ):
            return 0.88
        if re.match(r"^['’]s?\s", after) and (
            re.match(rf"^['’]s?\s+(?:[\w-]+\s+){{0,3}}{_WORK_NOUN}\b", after)
            or mentions(after[: len(subject) + 12], subject)
        ):
            return 0.85
    if (
        relation.name in {"publisher", "manufacturer"}
        and re.search(rf"\b(?:{verbs}|from|by)\s+(?:the\s+)?(?:[\w-]+\s+){{0,2}}$", before, re.I)
        and re.search(rf"\b(?:{verbs})\b", before, re.I)
    ):
        return 0.75
    return 0.0


_IN = r"(?:in|at|near|from|to|on|of|outside|around|inside|within)"


def _places(
    relation: Relation, sentence: str, subject: str, cues: list[tuple[int, int]]
) -> Iterator[tuple[Value, float]]:
    """Where: a name after a preposition after the cue, or after `is`/`:` after the noun."""
    for value in _names(sentence, subject):
        best = 0.0
        for start, end in cues:
            if end > value.start:
                if value.end <= start and re.match(r"^,\s+where\b", sentence[value.end :]):
                    best = max(best, 0.9)
                if value.end <= start and re.match(
                    r"^[\s,-]*(?:born|native|based|made)\b", sentence[value.end :], re.I
                ):
                    best = max(best, 0.75)
                continue
            between = sentence[end : value.start]
            if re.search(
                (
                    rf"(?:\b{_IN}\s+(?:the\s+)?(?:(?!{_IN}\b)[\w’'-]+\s+){{0,5}}(?:of\s+|called\s+)?|"
                    rf"\b(?:is|was|are|were)\s+(?:the\s+)?(?:[\w-]+\s+){{0,3}}|[:,]\s*|^\s+|\bwith\s+)$"
                ),
                between,
                re.I,
            ):
                gap = len(words(between))
                verbs = len(
                    re.findall(
                        r"\b(?:studied|moved|lived|died|worked|grew|settled|trained|and|but|where)\b", between
                    )
                )
                best = max(best, 1.0 - 0.03 * gap - 0.3 * verbs)
        if best > 0:
            yield value, best


def _named(
    relation: Relation, sentence: str, subject: str, cues: list[tuple[int, int]]
) -> Iterator[tuple[Value, float]]:
    """A name close to the cue, after it for preference."""
    values = _names(sentence, subject)
    for value in values:
        closeness = max((_closeness(value, cue, sentence, values) for cue in cues), default=0.0)
        if closeness > 0.5:
            yield value, 0.9 * closeness


def _phrases(relation: Relation, sentence: str, cues: list[tuple[int, int]]) -> Iterator[tuple[Value, float]]:
    """A short phrase after the cue; the sentence itself carries the answer."""
    for _, end in cues:
        match = re.match(
            r"\s*(?:is|was|are|were|of|:|in|from|with|by|as|for|—|–)?\s*(?P<v>[^.;!?]{2,120})", sentence[end:]
        )
        if match and match["v"].strip() and not (relation.plural and match["v"].strip()[0].isdigit()):
            start = end + match.start("v")
            text = match["v"].strip(" ,")
            yield Value(Kind.PHRASE, text, start, start + len(text)), 0.8
            return
    if cues and not relation.plural:
        yield Value(Kind.PHRASE, sentence, 0, len(sentence)), 0.7
