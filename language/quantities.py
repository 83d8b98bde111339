"""Amounts: numbers with a unit of measure, money, shares and counts of things, with comparable values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from language.dates import dates
from language.numbers import Number, amount, every_number
from language.units import Unit, unit_named
from language.words import STOP_WORDS, content_stems, fold, remembered, stem

ROUNDING = 0.02
"""Share by which amounts that were rounded differently may differ: "5 km", "3.1 miles"."""
_EXACT = 1e-6
"""Share by which floating-point arithmetic may spoil a conversion."""

_GAP = "[ \u00a0\u202f\u2009]?"
_LETTERS = r"[^\W\d_]{1,20}"
_SYMBOL = rf"[°º]{_GAP}[CF]\b|[%‰′″'\"°º€$£¥¢₹₽₩Ω]"
_AFTER = re.compile(
    rf"(?:(?<=[Hh]alf) an? |{_GAP}|-)"
    rf"(?P<one>{_LETTERS}(?:[²³]|[23](?!\w))?(?:·m)?(?:/{_LETTERS}[²³]?)?(?!\w)|{_SYMBOL})"
    rf"(?:\.? (?P<two>{_LETTERS}[²³23]?)\b(?: (?P<three>{_LETTERS})\b)?)?"
)
_BEFORE = re.compile(
    rf"(?<!\d)(?<!\d )(?:(?P<sign>(?:\b[A-Z]{{1,3}})?[€$£¥₹₽₩])|\b(?P<code>[A-Z]{{3}})){_GAP}\Z"
)
_SHORT_SCALE = re.compile(r" ?(?:([kK])|([mM])|(B))\b")
_INCHES = re.compile(
    r"(?=[.,;:)]|\s*$|\s*[x×]| (?:by|wide|long|high|tall|deep|thick|in (?:diameter|length|height))\b)"
)
_RANGE = re.compile(rf"{_GAP}([-–—x×]|to|or|by){_GAP}")
_PARTS = re.compile(r" (?:and )?|")
_NOUN = re.compile(r"[ -]([^\W\d_]{2,30})\b(?: ([^\W\d_]{2,30})\b(?: ([^\W\d_]{2,30})\b)?)?")
_PAYING = content_stems(
    "cost price pay paid sell sold buy bought worth charge fee fund spend spent earn debt salary"
)
_MANY = frozenset({"people", "men", "women", "children", "feet", "teeth", "mice", "geese", "sheep", "fish"})
_CODE_LETTERS = frozenset({"A", "K"})
"""Symbols that are parts of codes where no space is before them ("gate 12A", "4K")."""
_POUND, _POUND_STERLING = Unit("lb", "mass", 0.45359237), Unit("GBP", "money:GBP", 1.0)
_NEAR = 80
"""Characters around an amount in pounds where paying may be spoken of."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """`text` equals `source[start:end]`: `value` of `unit`, which is `base` of the dimension's base unit.

    Money's dimension is "money:EUR" (cents of an unknown currency: "money:cent"), that of shares "share"; a
    count has dimension "" and the stem of what is counted, or "", as its unit. `step`: what one more in the
    last place is worth, in base units.
    """

    value: float
    unit: str
    base: float
    dimension: str
    start: int
    end: int
    text: str
    step: float = 0.0


@remembered(512)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The amounts of a text in order, dates left out; "2 hours 30 minutes" is one, "5-10 kg" are two."""
    plain = _with_primes(text)
    dated = {place for date in dates(text) for place in range(date.start, date.end)}
    counted = [n for n in every_number(plain) if not n.ordinal and n.start not in dated]
    found = [_money_before(plain, n) or _measured(plain, n) for n in counted]
    _share_units(plain, counted, found)
    for i, number in enumerate(counted):
        if found[i] is None and not plain[number.end : number.end + 1].isalpha():
            found[i] = _count(plain, number)
    whole = _joined(plain, [each for each in found if each is not None])
    return tuple(replace(each, text=text[each.start : each.end]) for each in whole)


def same_quantity(a: Quantity, b: Quantity) -> bool:
    """Whether two amounts are the same but for their units and rounding; of counts, of the same things."""
    if a.dimension != b.dimension or (not a.dimension and a.unit != b.unit and a.unit and b.unit):
        return False
    largest = max(abs(a.base), abs(b.base))
    rounded = min(max(a.step, b.step) / 2, ROUNDING * largest)
    return abs(a.base - b.base) <= max(rounded, _EXACT * largest) * (1 + _EXACT)


def _with_primes(text: str) -> str:
    """Feet and inches with their own signs, character for character: quotation marks stand for them."""
    text = re.sub(r"(?<=\d)['’](?=\d{1,2}[\"”])", "′", text)
    text = re.sub(r"(?<=′\d)[\"”]|(?<=′\d\d)[\"”]", "″", text)
    return re.sub(r'(?<=\d)"', "″", text) if text.count('"') == 1 else text


def _of(number: Number, unit: Unit, start: int, end: int, value: float) -> Quantity:
    base, step = value * unit.factor + unit.offset, number.step * unit.factor
    return Quantity(value, unit.name, base, unit.dimension, start, end, "", step)


def _money_before(text: str, number: Number) -> Quantity | None:
    """ "€5", "US$ 2.5 million", "EUR 1.234", "$5M"."""
    window = max(0, number.start - 6)
    mark = _BEFORE.search(text[window : number.start])
    if mark is None:
        return None
    unit = unit_named(mark["code"] or mark["sign"]) or unit_named(mark["sign"][-1] if mark["sign"] else "")
    if unit is None or not unit.dimension.startswith("money"):
        return None
    times, end = _short_scale(text, number.end)
    scaled = replace(number, step=number.step * times)
    return _of(scaled, unit, window + mark.start(), end, _paid(number) * times)


def _short_scale(text: str, end: int) -> tuple[float, int]:
    scale = _SHORT_SCALE.match(text, end)
    return (10.0 ** (3 * (scale.lastindex or 0)), scale.end()) if scale else (1.0, end)


def _paid(number: Number) -> float:
    """In prices a dot before three digits groups thousands."""
    return amount(number.text, thousands=True) or number.value


def _measured(text: str, number: Number) -> Quantity | None:
    after = _AFTER.match(text, number.end)
    if after is None:
        return None
    parts = [after["one"], after["two"], after["three"]]
    for many in range(3 if after["three"] else 2 if after["two"] else 1, 0, -1):
        end = after.end(many)
        unit = unit_named(" ".join(part for part in parts[:many] if part))
        if unit is not None and _is_unit(text, number.end, after.start("one"), end):
            unit = _which_pound(text, number, end) if unit.name == "lb" and after["one"][0] in "pP" else unit
            value = _paid(number) if unit.dimension.startswith("money") else number.value
            return _of(number, unit, number.start, end, value)
    return None


def _is_unit(text: str, number_end: int, start: int, end: int) -> bool:
    """Whether a unit's symbol is one here, and not a preposition or part of a code."""
    symbol, glued = text[start:end], number_end == start
    if symbol.lower() == "in":
        return glued or text[number_end] == "-" or _INCHES.match(text, end) is not None
    if symbol == "s" and glued and text[number_end - 1] == "0":
        return False  # the nineties
    joined = text[end : end + 1] in {"-", "'", "’"} and text[end + 1 : end + 2].isalpha()
    return not (glued and symbol in _CODE_LETTERS) and not (len(symbol) == 1 and symbol.isalpha() and joined)


def _which_pound(text: str, number: Number, end: int) -> Unit:
    near = content_stems(text[max(0, number.start - _NEAR) : end + _NEAR])
    return _POUND_STERLING if near & _PAYING else _POUND


def _share_units(text: str, counted: Sequence[Number], found: list[Quantity | None]) -> None:
    """Give both ends of a range the unit that one of them has: "5-10 kg", "€5 to 10", "30 x 40 cm"."""
    for i in range(len(counted) - 1, 0, -1):
        left, right = found[i - 1], found[i]
        start = right.start if right else counted[i].start
        range_ = _RANGE.fullmatch(text, left.end if left else counted[i - 1].end, start)
        if range_ is None or (left is None) == (right is None):
            continue
        given = left or right
        unit = unit_named(given.unit) if given else None
        money = unit is not None and unit.dimension.startswith("money")
        if (
            unit is None
            or (left and not money)
            or (range_[1] in {"x", "×", "by"} and unit.dimension != "length")
        ):
            continue
        number, place = (counted[i], i) if left else (counted[i - 1], i - 1)
        found[place] = _of(number, unit, number.start, number.end, number.value)


def _joined(text: str, found: Sequence[Quantity]) -> list[Quantity]:
    """With neighbours such as "5 ft 10 in" made one."""
    whole: list[Quantity] = []
    for each in found:
        last = whole[-1] if whole else None
        unit = unit_named(last.unit) if last and last.dimension in {"length", "time", "mass"} else None
        joined = last and _PARTS.fullmatch(text, last.end, each.start) and last.dimension == each.dimension
        if last and unit and joined and 0 <= each.base < unit.factor and each.step < unit.factor:
            base = last.base + each.base
            value = base / unit.factor
            whole[-1] = replace(last, value=value, base=base, end=each.end, step=each.step)
        else:
            whole.append(each)
    return whole


def _count(text: str, number: Number) -> Quantity:
    """A bare number with the first plural of the three words that follow."""
    after = _NOUN.match(text, number.end)
    noun = ""
    for word in after.groups() if after else ():
        folded = fold(word or "")
        if not folded or folded in STOP_WORDS:
            break
        if (
            number.value == 1
            or folded in _MANY
            or (folded.endswith("s") and not folded.endswith(("ss", "us", "is")))
        ):
            noun = stem(folded)
            break
    return Quantity(number.value, noun, number.value, "", number.start, number.end, "", number.step)
