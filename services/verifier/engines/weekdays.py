"""Days of the week in text: full or abbreviated, single, in ranges ("Mon-Fri") and as "daily"."""

import re
from collections.abc import Iterator

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FULL = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_SHORT = r"(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun|MON|TUE|WED|THU|FRI|SAT|SUN)\b\.?"
_ANY = rf"(?:(?i:{_FULL})\b|{_SHORT})"
_RANGE = re.compile(rf"\b(?P<first>{_ANY})\s?(?:[-–—]|\b(?:to|through|till|until)\b)\s?(?P<last>{_ANY})")
_SINGLE_FULL = re.compile(rf"\b{_FULL}\b", re.IGNORECASE)
_SINGLE_SHORT = re.compile(rf"(?<![\w-]){_SHORT}")
_SCHEDULE_AFTER = re.compile(r"\s*(?:$|[\n&/+,:|-]|\d|closed\b|open\b|shut\b|noon\b|and\b)", re.IGNORECASE)
_SCHEDULE_BEFORE = re.compile(r"(?:^|[\n&/+,|(]\s*|\b(?:on|and|except|closed|every)\s+)$", re.IGNORECASE)
_SETS = {
    re.compile(
        r"\b(?:daily|every day|all week|seven days a week)\b(?!,?\s+(?:except|but))", re.IGNORECASE
    ): 7,
    re.compile(r"\b(?:on weekdays|weekdays)\b", re.IGNORECASE): 5,
}

Days = frozenset[int]
"""Monday is 0."""


def weekdays_of(text: str) -> Iterator[tuple[int, int, Days]]:
    """(start, end, days); abbreviations only as in timetables, since the sun is also a star."""
    taken: list[tuple[int, int]] = []
    for match in _RANGE.finditer(text):
        taken.append(match.span())
        first, last = _day(match["first"]), _day(match["last"])
        yield *match.span(), frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
    for match in (*_SINGLE_FULL.finditer(text), *_timetabled(text)):
        if not any(start < match.end() and match.start() < end for start, end in taken):
            yield *match.span(), frozenset({_day(match.group())})
    for pattern, count in _SETS.items():
        for match in pattern.finditer(text):
            yield *match.span(), frozenset(range(count))


def _timetabled(text: str) -> Iterator[re.Match[str]]:
    for match in _SINGLE_SHORT.finditer(text):
        if _SCHEDULE_AFTER.match(text, match.end()) and _SCHEDULE_BEFORE.search(text[: match.start()]):
            yield match


def _day(name: str) -> int:
    return _DAYS.index(name[:3].casefold())
