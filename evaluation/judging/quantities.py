"""Numbers with units, and dates, in an answer: 1,234 and 1234, 12 cm and 120 mm, €4.50 and 4,50 euros."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.judging.text import canonical

_FAMILIES: dict[str, dict[str, float]] = {
    "length": {
        "mm millimetre millimeter": 0.001, "cm centimetre centimeter": 0.01, "m metre meter": 1,
        "km kilometre kilometer": 1000, "in inch inche": 0.0254, "ft foot feet": 0.3048, "yd yard": 0.9144,
        "mi mile": 1609.344,
    },
    "area": {"ha hectare": 1e4, "acre": 4046.8564},
    "mass": {
        "mg milligram": 1e-6, "g gram": 0.001, "kg kilo kilogram": 1, "t tonne": 1000,
        "oz ounce": 0.028349523, "lb pound": 0.45359237,
    },
    "volume": {
        "ml millilitre milliliter": 1e-6, "cl": 1e-5, "dl": 1e-4, "l litre liter": 1e-3, "cc": 1e-6,
        "floz": 2.957353e-5, "pint": 4.73176473e-4, "gallon": 3.785411784e-3,
    },
    "food energy": {"kcal kilocalorie cal calorie": 1, "kj kilojoule": 0.2390057},
    "energy": {"wh watthour": 1, "kwh kilowatthour": 1000},
    "power": {"W watt": 1, "kw kilowatt": 1000},
    "duration": {
        "s sec second": 1, "min minute": 60, "h hr hour": 3600, "day": 86_400, "week": 604_800,
        "month": 2_629_800, "year yr": 31_557_600,
    },
    "speed": {"km/h kmh kph": 1, "m/s": 3.6, "mph": 1.609344},
    "force": {"N newton": 1}, "voltage": {"V volt": 1}, "current": {"A amp ampere": 1}, "charge": {"mah": 1},
    "frequency": {"hz hertz": 1, "khz": 1e3, "mhz": 1e6, "ghz": 1e9},
    "data": {"kb": 1e3, "mb megabyte": 1e6, "gb gigabyte": 1e9, "tb terabyte": 1e12},
    "percent": {"% percent": 1}, "angle": {"deg degree": 1},
    "euro": {"€ eur euro": 1}, "dollar": {"$ usd dollar": 1}, "pound sterling": {"£ gbp": 1},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unit:
    """`factor`: how many of the dimension's base unit one of these is; `offset` is for temperatures."""

    dimension: str
    factor: float = 1.0
    offset: float = 0.0

    def to_base(self, value: float) -> float:
        """Return the value in the base unit."""
        return value * self.factor + self.offset


_UNITS = {
    name: Unit(dimension, factor)
    for dimension, family in _FAMILIES.items()
    for names, factor in family.items()
    for name in names.split()
}
for _name, _unit in [each for each in _UNITS.items() if each[1].dimension == "length"]:
    _UNITS |= {f"{_name}2": Unit("area", _unit.factor**2), f"{_name}3": Unit("volume", _unit.factor**3)}
_UNITS["°c"] = _UNITS["celsius"] = Unit("temperature")
_UNITS["°f"] = _UNITS["fahrenheit"] = Unit("temperature", 5 / 9, -160 / 9)
_PHRASES = (
    (r"\b(?:square|sq\.?) ?([a-z]+?)(?:s\b|\b)", r"\g<1>2"),
    (r"\bcubic ?([a-z]+?)(?:s\b|\b)", r"\g<1>3"),
    (r"\bkilomet(?:er|re)s? (?:per|an) hour\b", "km/h"),
    (r"\bmiles (?:per|an) hour\b", "mph"),
    (r"\bmet(?:er|re)s? (?:per|a) second\b", "m/s"),
    (r"\b(kilo)?watt[- ]hours?\b", r"\g<1>watthour"),
    (r"\bfl\.? ?oz\b|\bfluid ounces?\b", "floz"),
    (r"\bper cent\b", "percent"),
    (r"(?:°|\bdegrees?) ?(?:celsius|c\b)", "°c"),
    (r"(?:°|\bdegrees?) ?(?:fahrenheit|f\b)", "°f"),
)

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {
    **{word: n for n, word in enumerate(_SMALL)},
    **{word: n * 10 for n, word in enumerate(_TENS, 2)},
    **{f"{t}-{o}": n * 10 + m for n, t in enumerate(_TENS, 2) for m, o in enumerate(_SMALL[1:10], 1)},
    "dozen": 12,
    "hundred": 100,
}
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3}
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3})+,\d+|(?:\d+ )?\d+/\d+|\d+(?:[.,]\d+)?"
_QUANTITY = re.compile(
    r"(?:(?P<before>[€$£]|\b(?:EUR|USD|GBP))\s?)?"
    rf"(?:(?<![\w.])(?<!\d,)(?<![A-Za-z]-)(?P<sign>(?<![\w)])-)?(?P<digits>{_DIGITS})"
    rf"|\b(?P<word>{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b)"
    r"(?P<ordinal>(?:st|nd|rd|th|s)\b)?"
    rf"(?:[\s-]?(?P<scale>{'|'.join(_SCALES)})\b)?"
    r"(?:[\s-]{0,2}(?P<unit>km/h|m/s|°[CFcf]\b|[a-zA-Z]+[23](?!\d)|[€$£%]|[^\W\d_]+))?",
    re.IGNORECASE,
)
_END = re.compile(r"\s*(?:$|[.,;:)x×*]|by\b|wide|high|tall|long|thick)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """`readings`: values that the digits can mean ("1.234" has two); `noun`: a counted thing, `pages`.

    `ulp`: one unit in the last written place. `start`, `end`: characters of `plain_numbers(text)`.
    """

    readings: tuple[float, ...]
    ulp: float
    unit: Unit | None
    noun: str
    start: int
    end: int

    def meets(self, true: "Quantity") -> bool:
        """Whether one reading is the true quantity, within rounding or, in another unit, 1 %."""
        if self.unit is not None and (true.unit is None or true.unit.dimension != self.unit.dimension):
            return False
        value = true.readings[0]
        if true.unit is None or self.unit is None or self.unit == true.unit:
            return any(abs(reading - value) <= self._tolerance(true) for reading in self.readings)
        base = true.unit.to_base(value)
        rounding = min(0.5 * self.ulp * self.unit.factor, 0.05 * abs(base))
        return any(
            abs(self.unit.to_base(reading) - base) <= max(0.01 * abs(base), rounding)
            for reading in self.readings
        )

    def _tolerance(self, true: "Quantity") -> float:
        """Counts are exact, a whole measure may have been rounded, prices are exact to the cent."""
        if true.unit is not None and true.unit.dimension in {"euro", "dollar", "pound sterling"}:
            return 0.005
        if not true.readings[0].is_integer():
            return 0.005 * abs(true.readings[0])
        return 0.4999 if true.unit is not None and self.ulp < 1 else 1e-9


def unit_named(name: str) -> Unit | None:
    """Return the unit of that name or sign, singular or plural; None for other words, such as `pages`."""
    plain = plain_numbers(name)
    lower = plain.lower()
    return (
        _UNITS.get(plain)
        or _UNITS.get(lower)
        or (_UNITS.get(lower[:-1]) if len(lower) > 2 and lower[-1] == "s" else None)
    )


def plain_numbers(text: str) -> str:
    """Return the text with compatibility forms, dashes, thousands and units in one spelling."""
    spaced = re.sub(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))", "", text)
    spaced = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", spaced)  # 1½ is not 11/2
    plain = re.sub(r"[‐‑‒–—−]", "-", unicodedata.normalize("NFKC", spaced).replace("⁄", "/"))
    for phrase, unit in _PHRASES:
        plain = re.sub(phrase, unit, plain, flags=re.IGNORECASE)
    return plain


def quantities(text: str) -> list[Quantity]:
    """Return every quantity in reading order; ordinals and decades are none."""
    return list(_quantities(plain_numbers(text)))


def _quantities(plain: str) -> Iterator[Quantity]:
    position = 0
    while match := _QUANTITY.search(plain, position):
        end = match.end("scale") if match["scale"] else match.end("word" if match["word"] else "digits")
        position = max(end, match.start() + 1)
        if match["ordinal"]:
            continue
        after = match["unit"] or ""
        if after.lower() == "in" and not _END.match(plain, match.end()):
            after = ""  # the preposition
        name = match["before"] or after
        unit = unit_named(name)
        readings, ulp = _value(match)
        stop = match.end() if name and name == match["unit"] else end
        yield Quantity(readings, ulp, unit, "" if unit else singular(name), match.start(), stop)


def _value(match: re.Match[str]) -> tuple[tuple[float, ...], float]:
    scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
    if match["word"]:
        return (NUMBER_WORDS[match["word"].lower()] * scale,), scale
    digits, sign = match["digits"], -scale if match["sign"] else scale
    if "/" in digits:
        *whole, fraction = digits.split(" ")
        above, below = map(int, fraction.split("/"))
        return (sign * ((above / below if below else float("nan")) + sum(map(int, whole))),), 0.0
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        number = digits.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+", digits):
        number = digits.replace(".", "").replace(",", ".")
    else:
        number = digits.replace(",", ".")
    readings = [float(number)]
    if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
        readings.append(float(digits.replace(".", "")))
    return tuple(sign * reading for reading in readings), scale * 10.0 ** -len(number.partition(".")[2])


def singular(noun: str) -> str:
    """Return a count noun in one form: `pages` and `page` are the same."""
    lower = noun.lower()
    return lower[:-1] if lower.endswith("s") and len(lower) > 3 and not lower.endswith("ss") else lower


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?P<name>jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:[a-z]*)\b\.?"
_YEAR = r"(?P<year>1\d{3}|20\d{2})(?!\d|s\b|,\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_DATES = tuple(
    re.compile(r"(?<![\d.,])\b" + pattern)
    for pattern in (
        r"(?P<year>1\d{3}|20\d{2})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})\b",
        rf"{_DAY}\s*(?:of\s+|-|\.)?\s*{_MONTH}(?:\s*,?\s*(?:of\s+)?{_YEAR})?",
        rf"{_MONTH}\s*{_DAY}(?:\s*,?\s*{_YEAR})?",
        rf"(?P<day>\d{{1,2}})[-/.](?P<month>\d{{1,2}})[-/.]{_YEAR}",
        rf"{_MONTH}\s*,?\s*(?:of\s+)?{_YEAR}",
        _YEAR,
    )
)


@dataclass(frozen=True, slots=True)
class CalendarDate:
    """Year, month and day as far as they are given. `start`, `end`: characters of the canonical text."""

    parts: tuple[int | None, int | None, int | None]
    start: int
    end: int
    swapped: bool = False

    def meets(self, true: "CalendarDate") -> bool:
        """Whether every part of the true date is given; "4/3/1987" is read both ways."""
        year, month, day = self.parts
        readings = (self.parts, (year, day, month)) if self.swapped else (self.parts,)
        return any(
            all(part in (None, other) for part, other in zip(true.parts, reading, strict=True))
            for reading in readings
        )


def dates(text: str) -> list[CalendarDate]:
    """Return every date in reading order, the fullest reading of each."""
    found: list[CalendarDate] = []
    for number, pattern in enumerate(_DATES):
        for match in pattern.finditer(canonical(text)):
            given = match.groupdict()
            month = _MONTHS.index(given["name"][:3]) + 1 if given.get("name") else given.get("month")
            year, day = given.get("year"), given.get("day")
            parts = (int(year) if year else None, int(month) if month else None, int(day) if day else None)
            date = CalendarDate(parts, *match.span(), swapped=number == 3)
            possible = (parts[1] or 1) <= (31 if date.swapped else 12) and (parts[2] or 1) <= 31
            if possible and all(date.end <= each.start or each.end <= date.start for each in found):
                found.append(date)
    return sorted(found, key=lambda date: date.start)
