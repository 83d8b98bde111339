"""Numbers with their units in an answer: 1,234 and 1234, 12 cm and 120 mm, €4.50 and 4,50 euros."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from evaluation.judging.units import PHRASES, Unit, unit_named

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {
    **{word: n for n, word in enumerate(_SMALL)},
    **{word: n * 10 for n, word in enumerate(_TENS, 2)},
    **{f"{t}{j}{o}": n * 10 + m for n, t in enumerate(_TENS, 2) for m, o in enumerate(_SMALL[1:10], 1)
       for j in "- "},
    "dozen": 12, "hundred": 100,
}  # fmt: skip
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "k": 1e3}
_GROUP_SPACES = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_VULGAR = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_DIGITS = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)"  # 1,234.5
    r"|\d{1,3}(?:\.\d{3})+,\d+"  # 1.234,5
    r"|(?:\d+ )?\d+/\d+"  # 3 1/2
    r"|\d+(?:[.,]\d+)?"
)
_WORDS = "|".join(sorted(map(re.escape, NUMBER_WORDS), key=len, reverse=True))
_UNIT = (
    r"km/h|m/s|°[CFcf]\b|"
    + r"|".join(sorted(map(re.escape, PHRASES), key=len, reverse=True))
    + r"|[a-zA-Z]+[23](?!\d)|[€$£%]|[^\W\d_]+"
)
_QUANTITY = re.compile(
    r"(?:(?P<before>[€$£]|\b(?:EUR|USD|GBP))\s?)?"
    rf"(?:(?<![\w.])(?<!\d,)(?<![A-Za-z]-)(?P<sign>(?<![\w)])-)?(?P<digits>{_DIGITS})"
    rf"|\b(?P<word>{_WORDS})\b)"
    r"(?P<ordinal>(?:st|nd|rd|th|s)\b)?"
    r"(?:[\s-]?(?P<scale>thousand|million|billion|k)\b)?"
    rf"(?:[\s-]{{0,2}}(?P<unit>{_UNIT}))?",
    re.IGNORECASE,
)
_INCHES_END = re.compile(r"\s*(?:$|[.,;:)x×*]|by\b|wide|high|tall|long|thick)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """`readings`: what the digits may mean ("1.234" has two); `noun`: a unit that is no measure.

    `ulp`: one unit in the last written place. `start`, `end`: characters of `plain_numbers(text)`.
    """

    readings: tuple[float, ...]
    ulp: float
    unit: Unit | None
    noun: str
    start: int
    end: int
    spelled: bool = False


def plain_numbers(text: str) -> str:
    """Compatibility forms folded without gluing ½ to a digit; dashes and thousands in one spelling."""
    spaced = _GROUP_SPACES.sub("", _VULGAR.sub(" ", text))
    folded = unicodedata.normalize("NFKC", spaced)
    return re.sub(r"[‐‑‒–—−]", "-", folded.replace("⁄", "/"))


def quantities(text: str) -> list[Quantity]:
    """Every quantity in the text, in reading order. Ordinals and decades are none."""
    return list(_quantities(plain_numbers(text)))


def _quantities(plain: str) -> Iterator[Quantity]:
    position = 0
    while match := _QUANTITY.search(plain, position):
        end = match.end("scale") if match["scale"] else match.end("word" if match["word"] else "digits")
        position = max(end, match.start() + 1)
        if match["ordinal"]:
            continue
        name = match["before"] or _unit_after(match, plain)
        readings, ulp = _value(match)
        yield Quantity(
            readings=readings,
            ulp=ulp,
            unit=unit_named(name),
            noun=singular(name) if name and unit_named(name) is None else "",
            start=match.start(),
            end=match.end() if name == match["unit"] else end,
            spelled=bool(match["word"]),
        )


def _unit_after(match: re.Match[str], plain: str) -> str:
    name = match["unit"] or ""
    if name.lower() == "in" and not _INCHES_END.match(plain, match.end()):
        return ""  # the preposition
    return name


def _value(match: re.Match[str]) -> tuple[tuple[float, ...], float]:
    scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
    sign = -1.0 if match["sign"] else 1.0
    if match["word"]:
        return (NUMBER_WORDS[match["word"].lower()] * scale,), scale
    readings, ulp = _readings(match["digits"])
    return tuple(sign * scale * reading for reading in readings), ulp * scale


def _readings(digits: str) -> tuple[tuple[float, ...], float]:
    if "/" in digits:
        *whole, fraction = digits.split(" ")
        above, below = (int(part) for part in fraction.split("/"))
        value = above / below if below else float("nan")
        return (value + (int(whole[0]) if whole else 0),), 0.0
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        return _decimal(digits.replace(",", ""))
    if re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+", digits):
        return _decimal(digits.replace(".", "").replace(",", "."))
    readings, ulp = _decimal(digits.replace(",", "."))
    if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", digits):
        readings += (float(digits.replace(".", "")),)
    return readings, ulp


def _decimal(digits: str) -> tuple[tuple[float, ...], float]:
    places = len(digits.partition(".")[2])
    return (float(digits),), 10.0**-places


def singular(noun: str) -> str:
    """A count noun in one form: `pages` and `page` are the same."""
    lower = noun.lower()
    return lower[:-1] if lower.endswith("s") and len(lower) > 3 else lower
