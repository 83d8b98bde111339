"""Comparisons that give both values: "X has the greater height: 100 cm against 55 cm for Y"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.verifier.engines.binding import Value, values_of
from services.verifier.engines.claims import Claim
from services.verifier.engines.comparison import Comparison
from services.verifier.engines.names import entity_words, folded, missing_words
from services.verifier.engines.passages import Sentence
from services.verifier.engines.quantities import Quantity
from services.verifier.engines.relating import kinds_of, without_names
from services.verifier.engines.relations import relations_in, relations_near
from services.verifier.engines.text import Word, word_set, words_of

_LARGER = word_set(
    """greater greatest larger largest bigger biggest higher highest more most taller tallest longer longest
    heavier heaviest wider widest deeper deepest thicker thickest stronger sweeter saltier dearer pricier
    costlier richer later latest newer newest younger youngest"""
)
_SMALLER = word_set(
    """smaller smallest lower lowest less least fewer fewest shorter shortest lighter lightest narrower
    thinner weaker cheaper cheapest earlier earliest older oldest first sooner"""
)
_OF_AGE = word_set("older oldest younger youngest newer newest")  # the earlier year, but the longer time
_QUICKER = word_set("faster fastest quicker quickest slower slowest")
_LESS = re.compile(r"\bless (?=expensive|than)|\bleast expensive\b|\bnot as\b", re.IGNORECASE)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)
_JOINED = re.compile(
    r"\b(?:against|versus|vs|compared|while|whereas|than|for|at|has|and|but|only|to)\b|[;,(]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Side:
    """One thing with the value that the claim gives it: folded words that name it."""

    value: Value
    size: float
    names: frozenset[str]


def check_stated(claim: Claim, sentences: Sequence[Sentence], entity: str | None) -> Comparison | None:
    """None when the claim is no such comparison, or a value is nowhere, or nobody can say whose it is."""
    sides = _sides(claim, entity)
    larger = _first_is_larger(claim, sides[0]) if sides else None
    if sides is None or larger is None:
        return None
    first, second = sides
    holders = [[s for s in sentences if side.value.found_in(s.facts)] for side in sides]
    if not all(holders):
        return None
    bound = (
        _holder(claim, first, second, sentences, entity),
        _holder(claim, second, first, sentences, entity),
    )
    shown = tuple(found or near[0] for found, near in zip(bound, holders, strict=True))
    if not all(bound):
        return Comparison(False, "The evidence gives these values for something else.", (shown[0], shown[1]))
    holds = first.size > second.size if larger else first.size < second.size
    detail = "" if holds else "The evidence's own values do not bear out the comparison."
    return Comparison(holds, detail, (shown[0], shown[1]))


def _sides(claim: Claim, entity: str | None) -> tuple[_Side, _Side] | None:
    values = [value for value in values_of(claim) if _size(claim, value) is not None]
    if len(values) < 2 or kinds_of(claim, values[0]) != kinds_of(claim, values[1]):
        return None
    one, other = values[:2]
    if not _JOINED.search(claim.text, one.end, other.start):
        return None
    than = _THAN.search(claim.text, 0, one.start)
    middle = than.start() if than else one.start
    before = _naming(claim, 0, middle, entity)
    after = (
        _naming(claim, middle, one.start, None) if than else _naming(claim, one.end, len(claim.text), None)
    )
    sizes = _size(claim, one), _size(claim, other)
    if not before or not after or before == after or sizes[0] is None or sizes[1] is None:
        return None
    return _Side(one, sizes[0], before - after or before), _Side(other, sizes[1], after - before or after)


def _naming(claim: Claim, start: int, end: int, entity: str | None) -> frozenset[str]:
    """The words that name a thing in a part of the claim: its names, else the entity, else its words."""
    named = [word for run in claim.names for word in run if start <= word.start < end]
    if not named and entity:
        return frozenset(map(folded, entity_words(entity)))
    plain = [w for w in claim.terms if start <= w.start < end and not _compares(w)]
    return frozenset(folded(word.text) for word in named or plain)


def _compares(word: Word) -> bool:
    lower = word.text.casefold()
    kinds = ("length", "mass", "span", "money", "count", "date")
    return lower in _LARGER | _SMALLER | _QUICKER or bool(relations_in(lower, kinds))


def _size(claim: Claim, value: Value) -> float | None:
    """To compare by: a base unit's amount, or days."""
    for quantity in claim.facts.quantities:
        if quantity.start == value.start:
            return _amount(quantity)
    for date in claim.facts.dates:
        if date.start == value.start and date.year:
            return date.year * 372.0 + (date.month or 1) * 31 + (date.day or 1)
    return None


def _amount(quantity: Quantity) -> float:
    return quantity.readings[0].value


def _first_is_larger(claim: Claim, first: _Side) -> bool | None:
    """Which way the comparing word before the first value points; None without one."""
    kinds = kinds_of(claim, first.value)
    before = claim.text[: first.value.start]
    if _LESS.search(before):
        return False
    for word in (w.text.casefold() for w in words_of(before)):
        turned = "span" in kinds and word in _OF_AGE
        if word in _QUICKER:
            return word.startswith("slow") == ("span" in kinds)
        if word in _LARGER | _SMALLER:
            return (word in _LARGER) is not turned
    return None


def _holder(
    claim: Claim, own: _Side, other: _Side, sentences: Sequence[Sentence], entity: str | None
) -> Sentence | None:
    """The sentence that gives the value for the thing itself, and for what is compared."""
    about = [s for s in sentences if own.value.found_in(s.facts) and _states(claim, own, s)]
    if entity and not {*map(folded, entity_words(entity))} & (own.names | other.names):
        about = _of_entity(own, about, entity, sentences)
    return next((s for s in about if _belongs(own, other, s)), None)


def _of_entity(
    own: _Side, about: Sequence[Sentence], entity: str, sentences: Sequence[Sentence]
) -> list[Sentence]:
    """Where the evidence names the entity right beside such a value, only that value is the entity's."""
    wanted = entity_words(entity)
    beside = {
        s.evidence_index
        for s in sentences
        if own.value.rivalled_in(s.facts) and not missing_words(wanted, s.facts.folded_words)
    }
    return [
        s for s in about if s.evidence_index not in beside or not missing_words(wanted, s.facts.folded_words)
    ]


def _states(claim: Claim, side: _Side, sentence: Sentence) -> bool:
    """Whether it does not give the value for another measure (fat instead of sugar)."""
    kinds = kinds_of(claim, side.value)
    wanted = relations_in(without_names(claim.text), kinds)
    text = without_names(sentence.facts.text)
    places = side.value.places_in(sentence.facts)
    there = frozenset[str]().union(*(relations_near(text, *place, kinds) for place in places))
    return not wanted or not there or bool(wanted & there)


def _belongs(own: _Side, other: _Side, sentence: Sentence) -> bool:
    mine, others = _closeness(own.names, sentence), _closeness(other.names, sentence)
    if mine != others or mine < _DIRECT:
        return mine > others
    place = own.value.places_in(sentence.facts)[0][0]
    return _last_before(own.names, sentence, place) > _last_before(other.names, sentence, place)


_DIRECT, _TITLE, _PASSAGE, _NOWHERE = 3, 2, 1, 0


def _closeness(names: frozenset[str], sentence: Sentence) -> int:
    """Named in the sentence itself, in its passage's first line, somewhere there, or not at all."""
    if not missing_words(names, sentence.facts.folded_words):
        return _DIRECT
    if not missing_words(names, sentence.title_words):
        return _TITLE
    return _NOWHERE if missing_words(names, sentence.passage_words) else _PASSAGE


def _last_before(names: frozenset[str], sentence: Sentence, place: int) -> int:
    """Where the nearest of the names before a place stands; -1 when all come later."""
    starts = [w.start for w in words_of(sentence.facts.text) if folded(w.text) in names and w.start < place]
    return max(starts, default=-1)
