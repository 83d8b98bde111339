""" "X is cheaper than Y": find both values in the evidence and see which is which."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.verifier.engines.names import entity_words, folded, missing_words
from services.verifier.engines.passages import Sentence
from services.verifier.engines.text import STOPWORDS, words_of

_MONEY = ("money EUR", "money USD", "money GBP", "money JPY", "money CHF")


@dataclass(frozen=True, slots=True)
class _Comparative:
    pattern: re.Pattern[str]
    dimensions: tuple[str, ...]
    higher: bool


def _comparative(words: str, dimensions: tuple[str, ...], higher: bool) -> _Comparative:
    return _Comparative(re.compile(rf"\b(?:{words})\b", re.IGNORECASE), dimensions, higher)


_COMPARATIVES = (
    _comparative(r"cheaper|less expensive|costs? less|lower price", _MONEY, False),
    _comparative(r"more expensive|dearer|pricier|costs? more|higher price", _MONEY, True),
    _comparative(r"heavier|weighs? more", ("mass",), True),
    _comparative(r"lighter|weighs? less", ("mass",), False),
    _comparative(r"taller|higher|wider|deeper|bigger|larger", ("length", "area", "volume", "mass"), True),
    _comparative(r"shorter|lower|narrower|smaller", ("length", "duration", "area", "volume"), False),
    _comparative(r"longer", ("duration", "length", ""), True),
    _comparative(r"faster|quicker", ("speed",), True),
    _comparative(r"slower", ("speed",), False),
    _comparative(r"older|earlier|before", ("year",), False),
    _comparative(r"newer|younger|later|more recent", ("year",), True),
    _comparative(r"fewer|less", ("", "energy", "mass", "volume", "percent"), False),
    _comparative(r"more", ("", "energy", "mass", "volume", "percent", "data"), True),
)
_THAN = re.compile(r"\bthan\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`holds` when the evidence gives both values; `sentences` are where they were found."""

    holds: bool
    detail: str
    sentences: tuple[Sentence, Sentence]


def check_comparison(claim: str, others: Sequence[str], sentences: Sequence[Sentence]) -> Comparison | None:
    """None when the claim compares nothing or a value is not to be found.

    `others`: names that the claim may be comparing with when it does not say ("the P300 is cheaper").
    """
    comparative = _find(claim)
    if comparative is None:
        return None
    entry, match = comparative
    subject = claim[: match.start()]
    than = _THAN.search(claim, match.end())
    rivals = [claim[than.end() :]] if than else [name for name in others if not _same_thing(name, subject)]
    left = _value(subject, entry.dimensions, claim, sentences)
    if left is None:
        return None
    for rival in rivals:
        right = _value(rival, (left[2],), claim, sentences)
        if right is not None and right[1] is not left[1]:
            holds = left[0] > right[0] if entry.higher else left[0] < right[0]
            word = match.group().casefold()
            detail = "" if holds else f'The evidence\'s own values do not bear out "{word}".'
            return Comparison(holds, detail, (left[1], right[1]))
    return None


def _find(claim: str) -> tuple[_Comparative, re.Match[str]] | None:
    for entry in _COMPARATIVES:
        match = entry.pattern.search(claim)
        if match:
            return entry, match
    return None


def _same_thing(name: str, text: str) -> bool:
    return not missing_words(entity_words(name), (folded(word.text) for word in words_of(text)))


def _value(
    thing: str, dimensions: Sequence[str], claim: str, sentences: Sequence[Sentence]
) -> tuple[float, Sentence, str] | None:
    """The thing's first value in the best sentence that names it whole: value, sentence, dimension."""
    names = [word for word in words_of(re.split(r"[,;:(]|\bat\b", thing)[0]) if word.is_content]
    wanted = [word.text for word in names if word.text[0].isupper() or not word.text.isalpha()]
    wanted = wanted or [word.text for word in names]
    if not wanted:
        return None
    asked = {word.stem for word in words_of(claim) if word.text.casefold() not in STOPWORDS}
    best: tuple[int, float, Sentence, str] | None = None
    for sentence in sentences:
        if missing_words(wanted, sentence.passage_words):
            continue
        direct = not missing_words(wanted, sentence.facts.folded_words)
        for value, dimension, noun in _values(sentence, dimensions):
            merit = 4 * direct + 2 * (bool(noun) and noun in asked) + len(asked & sentence.facts.stems)
            if best is None or merit > best[0]:
                best = (merit, value, sentence, dimension)
    return (best[1], best[2], best[3]) if best else None


def _values(sentence: Sentence, dimensions: Sequence[str]) -> list[tuple[float, str, str]]:
    if "year" in dimensions:
        return [(float(date.year), "year", "") for date in sentence.facts.dates if date.year]
    return [
        (reading.value, reading.dimension, quantity.noun)
        for dimension in dimensions
        for quantity in sentence.facts.quantities
        for reading in quantity.readings
        if reading.dimension == dimension
    ]
