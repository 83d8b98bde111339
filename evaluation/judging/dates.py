"""Dates in an answer, in any of the usual spellings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.judging.text import canonical

_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_MONTHS = {name[:length]: n for n, name in enumerate(_MONTH_NAMES, 1) for length in (3, len(name))}
_MONTHS["sept"] = 9
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_YEAR = r"(?P<year>1\d{3}|20\d{2})(?!\d|s\b|,\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_PATTERNS = tuple(
    re.compile(r"(?<![\d.,])\b" + pattern)
    for pattern in (
        _YEAR.replace(r"(?!\d|s\b|,\d)", "") + r"[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})\b",
        _DAY + r"\s*(?:of\s+|-|\.)?\s*" + _MONTH + r"(?:\s*,?\s*(?:of\s+)?" + _YEAR + ")?",
        _MONTH + r"\s*" + _DAY + r"\b(?:\s*,?\s*" + _YEAR + ")?",
        r"(?P<day>\d{1,2})[-/.](?P<month>\d{1,2})[-/.]" + _YEAR,
        _MONTH + r"\s*,?\s*(?:of\s+)?" + _YEAR,
        _YEAR,
    )
)
_NUMERIC = 3  # the pattern of "4/3/1987"


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """A date as precise as it is said. `start`, `end`: characters of the canonical text.

    `ambiguous`: written as two numbers and a year, of which either may be the month.
    """

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int
    ambiguous: bool = False

    def agrees_with(self, truth: "CalendarDate") -> bool:
        """Whether every part of the truth is said; more than the truth may be said."""
        true = (truth.year, truth.month, truth.day)
        readings = [(self.year, self.month, self.day)]
        if self.ambiguous:
            readings.append((self.year, self.day, self.month))
        return any(
            all(part is None or said == part for said, part in zip(reading, true, strict=True))
            for reading in readings
        )


def dates(text: str) -> list[CalendarDate]:
    """Every date in the text, in reading order, the fullest reading of each."""
    plain = canonical(text)
    found: list[CalendarDate] = []
    for number, pattern in enumerate(_PATTERNS):
        for date in _matches(pattern, plain, ambiguous=number == _NUMERIC):
            if all(date.end <= other.start or other.end <= date.start for other in found):
                found.append(date)
    return sorted(found, key=lambda date: date.start)


def _matches(pattern: re.Pattern[str], plain: str, *, ambiguous: bool) -> Iterator[CalendarDate]:
    for match in pattern.finditer(plain):
        parts = match.groupdict()
        year, month, day = parts.get("year"), parts.get("month"), parts.get("day")
        date = CalendarDate(
            year=int(year) if year else None,
            month=_month(month) if month else None,
            day=int(day) if day else None,
            start=match.start(),
            end=match.end(),
            ambiguous=ambiguous,
        )
        if _possible(date):
            yield date


def _month(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS[text]


def _possible(date: CalendarDate) -> bool:
    highest_month = 31 if date.ambiguous else 12
    return (date.month is None or 1 <= date.month <= highest_month) and (
        date.day is None or 1 <= date.day <= 31
    )
