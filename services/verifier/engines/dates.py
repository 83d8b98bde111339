"""Dates in text: year, month, day, in the usual spellings; what is not said is None."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.verifier.engines.units import UNITS
from services.verifier.engines.weekdays import Days, weekdays_of

_MONTHS = {
    "january": 1,
    "february": 2,
    "march": 3,
    "april": 4,
    "may": 5,
    "june": 6,
    "july": 7,
    "august": 8,
    "september": 9,
    "october": 10,
    "november": 11,
    "december": 12,
}
_MONTHS |= {name[:3]: i for name, i in _MONTHS.items()} | {"sept": 9}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>1\d{3}|20\d{2})"
_END = r"(?![\w])(?![.,]\d)"
_MEASURED = "|".join(re.escape(name) for name in sorted(UNITS, key=len, reverse=True))
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\w.,/-]){_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?(?!\w)",
        rf"(?<!\w){_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?(?!\w)",
        rf"(?<!\w){_MONTH},?\s+{_YEAR}(?!\w)",
        rf"(?<![\w.,/-]){_YEAR}-(?P<month>0\d|1[0-2])-(?P<day>[0-3]\d)(?!\w)",
        rf"(?<![\w.,/-])(?P<day>\d{{1,2}})[./](?P<month>\d{{1,2}})[./]{_YEAR}(?!\w)",
        r"(?<![\w.,/-])(?P<decade>1\d{2}0|20\d0)s(?!\w)",
        rf"(?<![\w.,/€$£¥])(?<![^\W\d]-)(?<!\w\.){_YEAR}{_END}(?!\s?(?-i:{_MEASURED})(?!\w))",
    )
)


@dataclass(frozen=True, slots=True)
class Date:
    """`text[start:end]`. `weekdays`: of a weekday or a range of them.

    `ambiguous`: day and month may be exchanged, as in 3/4/1999.
    """

    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekdays: Days = frozenset()
    decade: bool = False
    ambiguous: bool = False

    def readings(self) -> Iterator[tuple[int | None, int | None, int | None]]:
        """(year, month, day), and once more with day and month exchanged if the notation allows it."""
        yield self.year, self.month, self.day
        if self.ambiguous:
            yield self.year, self.day, self.month


def dates_of(text: str) -> list[Date]:
    """All dates, leftmost first, none overlapping."""
    found: list[Date] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            date = _read(match)
            if date and not any(d.start < date.end and date.start < d.end for d in found):
                found.append(date)
    found += [
        Date(start, end, weekdays=days)
        for start, end, days in weekdays_of(text)
        if not any(date.start < end and start < date.end for date in found)
    ]
    return sorted(found, key=lambda date: date.start)


def _read(match: re.Match[str]) -> Date | None:
    parts = match.groupdict()
    start, end = match.span()
    if parts.get("decade"):
        return Date(start, end, year=int(parts["decade"]), decade=True)
    month = _month(parts.get("month"))
    day = int(parts["day"]) if parts.get("day") else None
    year = int(parts["year"]) if parts.get("year") else None
    numeric = month is not None and day is not None and not any(map(str.isalpha, match.group()))
    if numeric and month is not None and day is not None and month > 12 >= day:
        month, day = day, month
    if (day is not None and not 1 <= day <= 31) or (month is not None and not 1 <= month <= 12):
        return None
    slashed = "/" in match.group() and day is not None and day <= 12
    return Date(start, end, year, month, day, ambiguous=slashed)


def _month(text: str | None) -> int | None:
    if text is None:
        return None
    return int(text) if text.isdigit() else _MONTHS[text.casefold()]


def agrees(answer: Date, evidence: Date) -> bool:
    """Whether everything that `answer` says is said by `evidence`; the evidence may be more precise."""
    if answer.weekdays or evidence.weekdays:
        return bool(answer.weekdays) and answer.weekdays <= evidence.weekdays
    if answer.decade or evidence.decade:
        return answer.decade and (answer.year or 0) // 10 == (evidence.year or 0) // 10
    return any(
        all(said is None or said == known for said, known in zip(one, other, strict=True))
        for one in answer.readings()
        for other in evidence.readings()
    )
