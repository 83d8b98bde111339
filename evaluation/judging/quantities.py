"""Numbers with units, and dates, in an answer: 1,234 and 1234, 12 cm and 120 mm, €4.50 and 4,50 euros."""

import re
from dataclasses import dataclass
from decimal import Decimal

from evaluation.judging.text import canonical


def plain_text(text: str) -> str:
    """Return the text in canonical spelling, thousands joined and units of two words in one."""
    plain = canonical(re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text))
    return re.sub(r"(?:°|\bdegrees?) ?(celsius|fahrenheit|[cf]\b)", lambda unit: "°" + unit[1][0], plain)


_FAMILIES: dict[str, dict[str, float]] = {
    "length": {
        "mm millimetre millimeter": 0.001, "cm centimetre centimeter": 0.01, "m metre meter": 1,
        "km kilometre kilometer": 1000, "in inch inche": 0.0254, "ft foot feet": 0.3048, "mi mile": 1609.344,
    },
    "mass": {
        "mg milligram": 1e-6, "g gram": 0.001, "kg kilo kilogram": 1, "t tonne": 1000,
        "oz ounce": 0.028349523, "lb pound": 0.45359237,
    },
    "volume": {"ml millilitre milliliter": 0.001, "cl": 0.01, "l litre liter": 1, "gallon": 3.7854118},
    "food energy": {"kcal kilocalorie cal calorie": 1, "kj kilojoule": 0.2390057},
    "duration": {
        "s sec second": 1, "min minute": 60, "h hr hour": 3600, "day": 86_400, "week": 604_800,
        "month": 2_629_800, "year yr": 31_557_600,
    },
    "speed": {"km/h kmh kph": 1, "m/s": 3.6, "mph": 1.609344},
    "percent": {"% percent": 1}, "celsius": {"°c": 1}, "fahrenheit": {"°f": 1},
    "euro": {"€ eur euro": 1}, "dollar": {"$ usd dollar": 1}, "pound sterling": {"£ gbp": 1},
}  # fmt: skip
_UNITS = {
    name: (dimension, factor)
    for dimension, family in _FAMILIES.items()
    for names, factor in family.items()
    for name in names.split()
}
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {
    **{word: n for n, word in enumerate(_SMALL)},
    **{word: 10 * n for n, word in enumerate(_TENS, 2)},
    **{f"{ten}-{one}": 10 * n + m for n, ten in enumerate(_TENS, 2) for m, one in enumerate(_SMALL[1:10], 1)},
}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_QUANTITY = re.compile(
    r"(?:(?P<before>[€$£]|\b(?:eur|usd|gbp))\s?)?"
    r"(?:(?<![\w.])(?<!\d,)(?<![a-z]-)(?P<digits>(?:(?<![\w)])-)?"
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+/[1-9]\d*|\d+(?:[.,]\d+)?))"
    rf"|\b(?P<word>{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b)"
    rf"(?P<ordinal>(?:st|nd|rd|th|s)\b)?(?:[\s-]?(?P<scale>{'|'.join(_SCALES)})\b)?"
    r"(?:[\s-]{0,2}(?P<unit>km/h|m/s|°[cf]\b|[a-z]+[23](?!\d)|[€$£%]|[^\W\d_]+))?"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """`unit`: its dimension and factor; `noun`: a counted thing, `page`."""

    value: float
    unit: tuple[str, float] | None
    noun: str
    start: int = 0
    end: int = 0

    def meets(self, true: "Quantity") -> bool:
        """Return whether this is the true quantity: a whole number exactly, another within 0.1 %, and in
        another unit within 1 %.
        """
        if self.unit and true.unit and self.unit != true.unit:
            base = true.value * true.unit[1]
            return abs(self.value * self.unit[1] - base) <= 0.01 * abs(base)
        tolerance = 1e-9 if true.value.is_integer() else 0.001 * abs(true.value)
        return abs(self.value - true.value) <= tolerance


def quantities(plain: str) -> list[Quantity]:
    """Return every number with its unit, in reading order; ordinals and decades are left out."""
    numbers = []
    position = 0
    while match := _QUANTITY.search(plain, position):
        end = match.end(next(group for group in ("scale", "word", "digits") if match[group]))
        position = max(end, match.start() + 1)
        if not match["ordinal"]:
            name = match["before"] or match["unit"] or ""
            unit = _UNITS.get(name) or _UNITS.get(singular(name))
            stop = match.end() if match["unit"] else end
            noun = "" if unit else singular(name)
            numbers.append(Quantity(_value(match), unit, noun, match.start(), stop))
    return numbers


def _value(match: re.Match[str]) -> float:
    scale = _SCALES.get(match["scale"] or "", 1)
    if match["word"]:
        return float(NUMBER_WORDS[match["word"]] * scale)
    number, _, divisor = match["digits"].partition("/")
    joined = re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", number)
    exact = Decimal(number.replace(",", "" if joined else ".")) * scale  # 8.2 * 1e9 is not whole as a float
    return float(exact) / float(divisor or 1)


def singular(noun: str) -> str:
    return noun[:-1] if noun.endswith("s") and len(noun) > 2 and not noun.endswith("ss") else noun


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR = r"(?P<year>1\d{3}|20\d{2})(?!\d|s\b|,\d)"
_DATES = tuple(
    re.compile(r"(?<![\d.,])\b" + pattern)
    for pattern in (
        r"(?P<year>1\d{3}|20\d{2})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})\b",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*(?:of\s+)?{_MONTH}(?:,?\s*{_YEAR})?",
        rf"{_MONTH}\s*(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b)?,?\s*(?:of\s+)?{_YEAR}",
        rf"(?P<day>\d{{1,2}})[-/.](?P<month>\d{{1,2}})[-/.]{_YEAR}",
        _YEAR,
    )
)
_Date = tuple[tuple[int | None, ...], int, int]


def dates(plain: str) -> list[_Date]:
    """Return every date in reading order: year, month and day as far as given, start and end."""
    places: list[_Date] = []
    for pattern in _DATES:
        for match in pattern.finditer(plain):
            given = match.groupdict()
            month = _MONTHS.index(given["name"]) + 1 if given.get("name") else given.get("month")
            parts = (given.get("year"), month, given.get("day"))
            if all(match.end() <= start or end <= match.start() for _, start, end in places):
                places.append((tuple(int(part) if part else None for part in parts), *match.span()))
    return sorted(places, key=lambda date: date[1])
