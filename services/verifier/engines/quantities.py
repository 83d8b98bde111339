"""Numbers with units: digits, words, separators of either continent, ranges, clock times, currencies."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isclose

from services.verifier.engines.concepts import concept
from services.verifier.engines.number_words import word_numbers
from services.verifier.engines.text import STOPWORDS, stem, word_set
from services.verifier.engines.units import PREFIX_CURRENCIES, UNITS, Unit

_CLOSE = 1e-6
_CONVERTED = 0.01  # a converted value is usually rounded
_NUMBER = (
    r"\d{1,3}(?:[,\u00a0\u202f'’]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?: \d{3})+(?![\d])"
    r"|\d{1,3}(?:\.\d{3})+,\d+|\d+[.,]\d+|\d+|(?<![\w.])\.\d+"
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "bn": 1e9, "k": 1e3, "m": 1e6}
_UNIT_NAMES = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
_CURRENCY = "|".join(map(re.escape, PREFIX_CURRENCIES))
_QUANTITY = re.compile(
    rf"(?<![\w.,])(?<![^\W\d_]-)(?<![^\W\d_]/)(?:(?P<currency>{_CURRENCY})\s?)?(?P<number>{_NUMBER})"
    rf"(?P<ordinal>st|nd|rd|th)?(?:\s?(?P<scale>thousand|million|billion|bn\b))?"
    rf"(?:[\s-]?(?P<unit>{_UNIT_NAMES})(?![^\W_]))?(?!\w)"
)
_CLOCK = re.compile(
    r"(?<![\w.:])(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>a\.?m\.?|p\.?m\.?)(?!\w)"
    r"|(?<![\w.:])(?P<hour24>[01]?\d|2[0-4]):(?P<minute24>[0-5]\d)(?!\w)|\b(?P<word>noon|midnight)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s?(?:[–—-]|to|and)\s?", re.IGNORECASE)
_NAME_BEFORE = re.compile(r"[^\W\d_a-z][^\W\d_]+\s$")
_PERSONS = word_set(
    "peopl person employe worker inhabit resid visitor guest player member child adult student pupil spectat"
)
_NEXT_WORD = re.compile(r"[\s-]+([^\W\d_]+)")
_NO_NOUN = STOPWORDS | word_set(
    """against versus vs compared while whereas per out within during since until only altogether total apart
    each exactly respectively however although because though i.e e.g"""
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A value in its dimension's base unit ("" for a bare number); `scale`: the size of the written unit."""

    dimension: str
    value: float
    unit: str = ""
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """`text[start:end]`; several readings where it is ambiguous; `noun`: stem of what is counted."""

    start: int
    end: int
    readings: tuple[Reading, ...]
    noun: str = ""

    @property
    def is_bare(self) -> bool:
        """No unit was given."""
        return all(not reading.dimension for reading in self.readings)


def quantities_of(text: str, taken: Iterable[tuple[int, int]] = ()) -> list[Quantity]:
    """All quantities but those that overlap ranges already `taken` (by dates), leftmost first."""
    used = list(taken)
    found: list[Quantity] = []
    for candidate in (*_clock_times(text), *_digits(text), *_words(text)):
        if not any(start < candidate.end and candidate.start < end for start, end in used):
            used.append((candidate.start, candidate.end))
            found.append(candidate)
    found.sort(key=lambda quantity: quantity.start)
    return _units_of_ranges(text, found)


def _clock_times(text: str) -> Iterator[Quantity]:
    for match in _CLOCK.finditer(text):
        word = (match["word"] or "").casefold()
        if word:
            minutes = 720 if word == "noon" else 0
        elif match["hour"]:
            afternoon = match["half"][0] in "pP"
            minutes = (int(match["hour"]) % 12 + 12 * afternoon) * 60 + int(match["minute"] or 0)
        else:
            minutes = int(match["hour24"]) % 24 * 60 + int(match["minute24"])
        yield Quantity(match.start(), match.end(), (Reading("clock", float(minutes)),))


def _digits(text: str) -> Iterator[Quantity]:
    for match in _QUANTITY.finditer(text):
        unit = match["currency"] or match["unit"] or ""
        scale = _SCALES.get(match["scale"] or "", 1.0)
        values = [value * scale for value in _values(match["number"])]
        if match["ordinal"]:
            readings = tuple(Reading("ordinal", value) for value in values)
        else:
            readings = tuple(reading for value in values for reading in _with_unit(value, unit))
        yield Quantity(match.start(), match.end(), readings, "" if unit else _counted(text, match.end()))


def _words(text: str) -> Iterator[Quantity]:
    for start, end, value in word_numbers(text):
        if text[start].isupper() and _NAME_BEFORE.search(text, 0, start):
            continue  # the "Tavo Two"
        match = re.compile(rf"[\s-]({_UNIT_NAMES})(?![^\W_])").match(text, end)
        unit = match[1] if match else ""
        stop = match.end() if match else end
        yield Quantity(start, stop, _with_unit(value, unit), "" if unit else _counted(text, end))


def _values(number: str) -> list[float]:
    """What a numeral may mean: "1.200" and "1,200" are 1200 to some and 1.2 to others."""
    plain = re.sub(r"[\s\u00a0\u202f'’]", "", number)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        return [float(plain.replace(",", ""))]
    if re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", plain):
        return [float(plain.replace(".", "").replace(",", "."))]
    if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", plain):
        return [float(plain), float(plain.replace(".", ""))]
    return [float(plain.replace(",", "."))]


def _with_unit(value: float, name: str) -> tuple[Reading, ...]:
    units: tuple[Unit, ...] = UNITS.get(name, ())
    if not units:
        return (Reading("", value),)
    return tuple(
        Reading(unit.dimension, value * unit.factor + unit.offset, name, unit.factor) for unit in units
    )


def _counted(text: str, end: int) -> str:
    match = _NEXT_WORD.match(text, end)
    return stem(match[1]) if match and match[1].casefold() not in _NO_NOUN else ""


def _units_of_ranges(text: str, found: list[Quantity]) -> list[Quantity]:
    """In "24-30 kg" and "between 24 and 30 kg" the first number has the second's unit."""
    result = list(found)
    for i in range(len(result) - 2, -1, -1):
        left, right = result[i], result[i + 1]
        between = text[left.end : right.start]
        if not left.is_bare or right.is_bare or not _RANGE.fullmatch(between):
            continue
        units = {reading.unit for reading in right.readings if reading.unit}
        readings = tuple(
            reading for bare in left.readings for unit in units for reading in _with_unit(bare.value, unit)
        )
        result[i] = Quantity(left.start, left.end, readings or left.readings)
    return result


def same_quantity(answer: Quantity, evidence: Quantity, tolerance: float = 0.0) -> bool:
    """Whether the two can mean the same amount; units are converted, a missing unit is forgiven once."""
    if answer.is_bare and evidence.is_bare:
        return _nouns_agree(answer, evidence) and _same_value(answer, evidence, tolerance)
    if answer.is_bare or evidence.is_bare:
        bare, full = (answer, evidence) if answer.is_bare else (evidence, answer)
        if bare.noun:
            return False
        printed = [_as_printed(reading) for reading in full.readings]
        return any(isclose(r.value, value, rel_tol=_CLOSE) for r in bare.readings for value in printed)
    return _same_value(answer, evidence, tolerance)


def _nouns_agree(one: Quantity, other: Quantity) -> bool:
    if not one.noun or not other.noun or concept(one.noun) == concept(other.noun):
        return True
    return {one.noun, other.noun} <= _PERSONS and bool({one.noun, other.noun} & {"peopl", "person"})


def _same_value(one: Quantity, other: Quantity, tolerance: float) -> bool:
    return any(
        a.dimension == b.dimension
        and isclose(
            a.value,
            b.value,
            rel_tol=max(tolerance, _CLOSE if a.scale == b.scale else _CONVERTED),
            abs_tol=_CLOSE,
        )
        for a in one.readings
        for b in other.readings
    )


def _as_printed(reading: Reading) -> float:
    unit = next((u for u in UNITS.get(reading.unit, ()) if u.dimension == reading.dimension), None)
    return (reading.value - unit.offset) / unit.factor if unit else reading.value
