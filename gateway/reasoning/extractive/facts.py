"""Facts in the evidence: the passages that state a relation of a thing, and the value they give."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from contracts.answer import CitationKind
from gateway.reasoning.extractive.lexical import Sentence, coverage, fold, mentions, sentences, stem, words
from gateway.reasoning.extractive.naming import names_exactly
from gateway.reasoning.extractive.prose import prose_values
from gateway.reasoning.extractive.relation import NUMERIC, Answer, Relation
from gateway.reasoning.extractive.values import Kind, Value, find_values
from gateway.state import Evidence

PHOTO_INDEX = -1
"""Stands for the photo's own evidence until the index of that evidence is known."""


@dataclass(frozen=True, slots=True)
class Fact:
    """`value` as written in `quote`, which is verbatim in evidence `index`; `strength` 0..1."""

    value: str
    typed: Value | None
    index: int
    quote: str
    strength: float
    relation: Relation
    subject: str
    url: str
    modified: datetime | None
    from_prose: bool = False


KINDS: dict[Answer, Kind] = {
    Answer.DATE: Kind.DATE,
    Answer.MONEY: Kind.MONEY,
    Answer.QUANTITY: Kind.QUANTITY,
    Answer.NUMBER: Kind.NUMBER,
    Answer.PERCENT: Kind.PERCENT,
    Answer.PHONE: Kind.PHONE,
    Answer.HOURS: Kind.TIME,
    Answer.WEEKDAY: Kind.WEEKDAY,
}
_LABELLED = re.compile(
    r"^\W*(?P<key>[^\W\d_][\w /()’'.-]{1,40}?)\s*(?:[:|=]|\s[–—-]\s)\s*\|?\s*(?P<value>\S.*?)\s*\|?$"
)
_ANAPHORA = re.compile(
    (
        r"^(?:[A-Z][\w ]{2,24}, )?(?:it|its|he|his|she|her|they|their|this|these|inside|each|(?:the|"
        r"for the|of the|in the|at the|with the) [a-z]|written|first|born|priced|originally|published|"
        r"released|there)\b"
    ),
    re.I,
)
_ROW = re.compile(r"^\s*\|?\s*(?P<name>[^|]{3,90}?)\s*\|\s*(?P<value>[^|]{1,40}?)\s*\|?\s*$")


def find_facts(relations: Sequence[Relation], subject: str, evidence: Sequence[Evidence]) -> list[Fact]:
    """Every statement of any of the relations about the subject, strongest first."""
    found: list[Fact] = []
    for index, item in enumerate(evidence):
        for rank, relation in enumerate(relations):
            weight = 1.0 if rank == 0 else 0.85
            found.extend(
                replace(f, strength=f.strength * weight) for f in _facts_in(relation, subject, index, item)
            )
    return sorted(found, key=lambda f: -f.strength)


def _facts_in(relation: Relation, subject: str, index: int, item: Evidence) -> Iterator[Fact]:
    spoken = sentences(item.text)
    previous = ""
    page = page_is_about(item, subject)
    for sentence in spoken:
        about = subject_strength(sentence.text, previous, page, subject)
        if about > 0:
            yield from _facts_of_sentence(relation, subject, index, item, sentence, about)
        if not _ANAPHORA.match(sentence.text) or mentions(sentence.text, subject):
            previous = sentence.text


def page_is_about(item: Evidence, subject: str) -> float:
    """0..1: whether the passage's page is about the subject, by its entity, title and opening words."""
    if item.entity and (
        fold(item.entity) == fold(subject)
        or (coverage(subject, item.entity) > 0.99 and coverage(item.entity, subject) > 0.99)
    ):
        return 1.0
    heading = item.title or item.text[:80]
    if not mentions(heading, subject):
        return 0.0
    return 0.9 if names_exactly(heading, subject) else 0.6


def subject_strength(sentence: str, previous: str, page: float, subject: str) -> float:
    """0..1: whether the sentence speaks of the subject: by name, by anaphora, or because its page does."""
    if mentions(sentence, subject):
        return 1.0 if names_exactly(sentence, subject) else 0.75
    if previous and mentions(previous, subject) and _ANAPHORA.match(sentence):
        return 0.85
    return 0.85 * page


def _facts_of_sentence(
    relation: Relation, subject: str, index: int, item: Evidence, sentence: Sentence, about: float
) -> Iterator[Fact]:
    row = _ROW.match(sentence.text)
    if row and relation.answer is Answer.MONEY and relation.name == "price":
        yield from _from_row(relation, subject, index, item, sentence, row)
        return
    stated = _attribute(sentence.text, item, subject)
    if stated is not None:
        yield from _from_attribute(relation, subject, index, item, sentence, stated, about)
        return
    for value, strength in prose_values(relation, sentence.text, subject):
        quote = sentence.text
        base = 0.88 if item.kind is CitationKind.PAGE else 0.92
        yield Fact(
            value.text,
            value if value.kind is not Kind.PHRASE else None,
            index,
            quote,
            base * strength * about,
            relation,
            subject,
            item.url,
            item.last_modified,
            True,
        )


def _from_row(
    relation: Relation, subject: str, index: int, item: Evidence, sentence: Sentence, row: re.Match[str]
) -> Iterator[Fact]:
    """A price list's row: the thing in one cell, its price in the other."""
    value = next(iter(find_values(row["value"], Kind.MONEY)), None)
    if value is None or not mentions(row["name"], subject) or coverage(row["name"], subject) < 0.99:
        return
    yield Fact(value.text, value, index, sentence.text, 0.93, relation, subject, item.url, item.last_modified)


def _attribute(text: str, item: Evidence, subject: str) -> tuple[str, str] | None:
    """(key, value) of `The <key> of <entity> is <value>` (QA-Dragon, section 3.6.1) or of `Key: value`."""
    for name in filter(None, (item.entity, subject, item.title)):
        match = re.match(
            rf"the\s+(?P<key>.+?)\s+of\s+{re.escape(name)}\s+(?:is|are)\s+(?P<value>.+?)\.?$",
            text,
            re.I | re.S,
        )
        if match:
            return match["key"], match["value"]
    match = _LABELLED.match(text)
    return (match["key"], match["value"]) if match and len(words(match["key"])) <= 5 else None


def _from_attribute(
    relation: Relation,
    subject: str,
    index: int,
    item: Evidence,
    sentence: Sentence,
    stated: tuple[str, str],
    about: float,
) -> Iterator[Fact]:
    key, value = stated
    fit = key_fit(key, relation)
    if fit <= 0:
        return
    typed = typed_value(value, relation)
    if typed is None and relation.answer in {Answer.HOURS, Answer.WEEKDAY, Answer.PHONE}:
        typed = next(iter(find_values(value, Kind.WEEKDAY)), None)
        if typed is None:
            return
    if typed is None and relation.answer in NUMERIC | {Answer.DATE}:
        if fit < 1 or not any(c.isdigit() for c in value):
            return
        fit *= 0.6
    shown = value.strip().rstrip(".")
    yield Fact(
        shown,
        typed,
        index,
        sentence.text,
        0.97 * fit * about,
        relation,
        subject,
        item.url,
        item.last_modified,
    )


def key_fit(key: str, relation: Relation) -> float:
    """0..1: whether an infobox key names the relation."""
    stems = {stem(w) for w in words(key.replace("_", " "))} - {"of", "the", "by", "in", "date", "total"}
    plain = " ".join(words(key.replace("_", " ")))
    best = 0.0
    for rank, noun in enumerate(relation.nouns):
        if plain == " ".join(words(noun)):
            return 1.0 if rank < 4 else 0.95
        wanted = {stem(w) for w in words(noun)} - {"of", "the", "by", "in", "date", "total"}
        if wanted and wanted == stems:
            best = max(best, 0.9)
        elif wanted and len(wanted) > 1 and wanted <= stems:
            best = max(best, 0.75)
        elif rank == 0 and wanted and wanted <= stems:
            best = max(best, 0.7)
    return best


def typed_value(text: str, relation: Relation) -> Value | None:
    """The value of the relation's type in a short text, if there is one."""
    kind = KINDS.get(relation.answer)
    if kind is None:
        return None
    found = find_values(text, kind)
    if relation.dimension and kind is Kind.QUANTITY:
        found = tuple(v for v in found if v.dimension == relation.dimension)
    if not found and kind is Kind.NUMBER:
        found = find_values(text, Kind.QUANTITY)[:1] or find_values(text, Kind.DATE)[:1]
    return found[0] if found else None
