"""Dates, years, decades and centuries; months of the Gregorian calendar, years before Christ negative."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from language.numbers import numbers
from language.units import unit_named
from language.words import STOP_WORDS, remembered, word_set

_YEAR_ROUND = "January February March April May June July August September October November December"
_NAMES = _YEAR_ROUND.split()
_MONTHS = {name: i for i, name in enumerate(_NAMES, start=1)}
_MONTHS |= {name[:3]: i for i, name in enumerate(_NAMES, start=1)} | {"Sept": 9}
_MONTHS = {key: i for name, i in _MONTHS.items() for key in (name, name.upper())}
_MONTH = "(?:" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_ERA = r"(?: ?(?P<era>BCE?\b|B\.C\.(?:E\.)?|AD\b|A\.D\.|CE\b))"
_DATE = re.compile(
    rf"(?<![\w.,/:])(?<!\D-)(?:"
    rf"(?P<d1>{_DAY})(?: of)? (?P<m1>{_MONTH})(?:,? (?P<y1>\d{{4}}|\d{{3}}(?= BC))\b)?"
    rf"|(?P<m2>{_MONTH}) (?P<d2>{_DAY})\b(?!:)(?:,? (?P<y2>\d{{4}})\b)?"
    rf"|(?P<m3>{_MONTH}),? (?:of )?(?P<y3>\d{{4}})\b"
    r"|(?P<y4>\d{4})[-/](?P<m4>\d\d)[-/](?P<d4>\d\d)(?!\d)"
    r"|(?P<d5>\d{1,2})(?P<mark>[./-])(?P<m5>\d{1,2})(?P=mark)(?P<y5>\d{4})(?!\d)"
    rf"|(?P<m6>{_MONTH})(?=[\s.,;:?!)]|$))(?:(?<=\d){_ERA})?"
)
_AFTER_MONTH = re.compile(
    r"\b(?:in|of|since|until|by|from|to|late|early|mid|last|next|this|every|through) \Z", re.I
)
_WITH_ERA = re.compile(rf"(?<![\w.,])(?:(?P<n>\d{{1,4}}){_ERA}|(?:AD|A\.D\.) (?P<ad>\d{{1,4}})(?!\d))")
_DECADE = re.compile(r"(?<![\w.,])(?:(?P<full>1\d|20)(?P<tens>\d)0|['’]?(?P<short>[2-9])0)(?:['’]?s)\b")
_CENTURY = re.compile(rf"[ -](?P<word>century|centuries)\b{_ERA}?", re.I)
_YEAR = re.compile(
    r"(?<![\w.,:/#$€£¥])(?<![$€£¥#] )(?P<y>1\d{3}|20\d{2})(?![\w/%:]|[.,]\d|['’]\d)"
    r"(?:[-–/](?P<to>\d{4}|\d{2})(?![\w:/-]|[.,]\d))?"
)
_BEFORE_YEAR = re.compile(
    r"\b(?:in|since|until|till|by|from|before|after|during|of|around|about|year|circa|c\.|ca\.|early|late|mid|to"
    r"|and|between|spring|summer|autumn|fall|winter|the|an?) \Z",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"[ -]?([^\W\d_]{1,20}|[°%])")
_NOT_COUNTED = STOP_WORDS - {"d", "m", "s"}
_MANY = word_set("people men women children")
_FEW = 14
"""Characters before a date that may hold a preposition."""


@dataclass(frozen=True, slots=True)
class Date:
    """`text` equals `source[start:end]`. `until`: a decade's or century's last year; `year` is its first."""

    year: int | None
    month: int | None
    day: int | None
    start: int
    end: int
    text: str
    until: int | None = None


@remembered(512)
def dates(text: str) -> tuple[Date, ...]:
    """The dates of a text in order; of a range ("1894-96", "from 1894 to 1896") both ends are dates.

    A number such as 1894 is a year unless it counts what follows ("1894 pages"). Days and months that could
    be either ("05/06/2020") are left out.
    """
    found: list[Date] = []
    taken: set[int] = set()
    for date in (*_full(text), *_spans(text), *_years(text)):
        if taken.isdisjoint(range(date.start, date.end)):
            taken.update(range(date.start, date.end))
            found.append(date)
    return tuple(sorted(found, key=lambda date: date.start))


def agrees(a: Date, b: Date) -> bool:
    """Whether two dates can be the same, as far as both say: 1894 agrees with 30 June 1894 and the 1890s."""
    pairs = [(a.month, b.month), (a.day, b.day)]
    shared = [x == y for x, y in pairs if x is not None and y is not None]
    if a.year is not None and b.year is not None:
        shared.append(a.year <= (b.until or b.year) and b.year <= (a.until or a.year))
    return bool(shared) and all(shared)


def _full(text: str) -> Iterator[Date]:
    for match in _DATE.finditer(text):
        got = {key[0]: value for key, value in match.groupdict().items() if value and key[1:].isdigit()}
        month = got.get("m")
        if (
            month
            and set(got) == {"m"}
            and not _AFTER_MONTH.search(text[max(0, match.start() - _FEW) : match.start()])
        ):
            continue
        day = int(got["d"].rstrip("stndrh")) if "d" in got else None
        number = int(month) if month and month.isdigit() else _MONTHS[(month or "").rstrip(".")]
        if match["mark"] and day is not None and day != number and match["mark"] != ".":
            day, number = (number, day) if number > 12 else (day, number)
            if day <= 12:
                day = number = 0
        if number > 12 or (day or 0) > 31 or day == 0 != number:
            continue
        year = _in_era(int(got["y"]), match["era"]) if "y" in got else None
        end = match.end() - (match.group().endswith(".") and not match["era"])
        yield Date(year, number or None, day or None, match.start(), end, text[match.start() : end])


def _in_era(year: int, era: str | None) -> int:
    return -year if era and era.upper().startswith("B") else year


def _spans(text: str) -> Iterator[Date]:
    """Years with an era, decades and centuries."""
    for match in _WITH_ERA.finditer(text):
        year = _in_era(int(match["n"] or match["ad"]), match["era"])
        yield Date(year, None, None, match.start(), match.end(), match.group())
    for match in _DECADE.finditer(text):
        # A decade without its century is one of the last.
        first = int(f"{match['full']}{match['tens']}0") if match["full"] else 1900 + int(match["short"]) * 10
        yield Date(first, None, None, match.start(), match.end(), match.group(), first + 9)
    for number in numbers(text):
        century = _CENTURY.match(text, number.end)
        if century and number.ordinal and 0 < number.value < 100:
            last = int(number.value) * 100
            first, last = (-last, 99 - last) if _in_era(1, century["era"]) < 0 else (last - 99, last)
            yield Date(
                first, None, None, number.start, century.end(), text[number.start : century.end()], last
            )


def _years(text: str) -> Iterator[Date]:
    for match in _YEAR.finditer(text):
        if _counts(text, match):
            continue
        year, start = int(match["y"]), match.start()
        yield Date(year, None, None, start, start + 4, match["y"])
        until = int(match["y"][: 4 - len(match["to"])] + match["to"]) if match["to"] else 0
        if year < until < 2100:
            yield Date(until, None, None, match.start("to"), match.end("to"), match["to"])


def _counts(text: str, match: re.Match[str]) -> bool:
    """Whether the number says how many of something there are."""
    counted = _COUNTED.match(text, match.end())
    if counted is None or _BEFORE_YEAR.search(text[max(0, match.start() - _FEW) : match.start()]):
        return False
    word = counted[1]
    if word in _NOT_COUNTED:
        return False
    return unit_named(word) is not None or word in _MANY or (word.islower() and word.endswith("s"))
