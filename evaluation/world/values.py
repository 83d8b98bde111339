"""Values of facts: how they are said, what else counts as the same answer, and their infobox spelling."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

Scalar = str | float | int | bool | list[str] | None


class AnswerType(StrEnum):
    """How the rule-based judge compares an answer."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    SET = "set"
    BOOLEAN = "boolean"
    TEXT = "text"
    UNANSWERABLE = "unanswerable"


MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True)
class Value:
    """One fact's value: `text` as spoken, `plain` for the judge, `markup` as an infobox writes it."""

    text: str
    type: AnswerType
    accepted: tuple[str, ...]
    plain: Scalar = None
    unit: str | None = None
    markup: str = ""
    items: tuple[str, ...] = ()


def _unique(*spellings: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(s for s in spellings if s))


def count(n: int, unit: str = "") -> Value:
    """A whole number of something, such as 312 pages."""
    grouped = f"{n:,}"
    text = f"{grouped} {unit}".strip()
    return Value(text, AnswerType.NUMBER, _unique(text, f"{n} {unit}".strip(), grouped, str(n)), n, unit)


_LONG_UNITS = {
    "g": "grams",
    "kg": "kilograms",
    "ml": "millilitres",
    "cm": "centimetres",
    "kcal": "kilocalories",
    "Wh": "watt-hours",
    "h": "hours",
}
_IMPERIAL = {"cm": "in", "g": "oz", "kg": "lb"}


def measure(n: float, unit: str, *, other_units: tuple[str, ...] = ()) -> Value:
    """A physical quantity, such as 250 g."""
    digits = f"{n:g}"
    units = (unit, _LONG_UNITS.get(unit, unit), *other_units)
    spellings = [f"{digits} {u}" for u in units] + [f"{digits}{unit}", digits]
    into = _IMPERIAL.get(unit)
    markup = f"{{{{convert|{digits}|{unit}|{into}}}}}" if into else ""
    return Value(f"{digits} {unit}", AnswerType.NUMBER, _unique(*spellings), n, unit, markup=markup)


def size(width: int, height: int) -> Value:
    """Width by height in centimetres."""
    text = f"{width} cm × {height} cm"
    accepted = _unique(text, f"{width} × {height} cm", f"{width} x {height} cm", f"{width}x{height}")
    return Value(
        text,
        AnswerType.TEXT,
        accepted,
        text,
        "cm",
        markup=f"{{{{convert|{width}|x|{height}|cm|in}}}}",
    )


def money(amount: float) -> Value:
    """A price in euros."""
    fixed, cents = f"{amount:.2f}", 0 if float(amount).is_integer() else 2
    digits, grouped = f"{amount:.{cents}f}", f"{amount:,.{cents}f}"
    accepted = _unique(
        f"€{grouped}", f"€{digits}", f"€{fixed}", f"{digits} euros", f"{fixed} euros", f"EUR {fixed}",
        f"{fixed} €", digits,
    )  # fmt: skip
    return Value(f"€{grouped}", AnswerType.NUMBER, accepted, round(amount, 2), "EUR")


def year(y: int) -> Value:
    """A year."""
    return Value(str(y), AnswerType.DATE, (str(y),), str(y))


def day(d: date) -> Value:
    """A calendar date."""
    month = MONTHS[d.month - 1]
    text = f"{d.day} {month} {d.year}"
    accepted = (text, f"{month} {d.day}, {d.year}", f"{month} {d.day} {d.year}", d.isoformat())
    return Value(text, AnswerType.DATE, accepted, d.isoformat())


def clock(hour: int, minute: int = 0) -> Value:
    """A time of day."""
    text = f"{hour:02d}:{minute:02d}"
    twelve = (hour - 1) % 12 + 1
    half = "am" if hour < 12 else "pm"
    short = f"{twelve} {half}" if minute == 0 else f"{twelve}:{minute:02d} {half}"
    return Value(text, AnswerType.TEXT, _unique(text, short, f"{hour}:{minute:02d}"), text)


def name(text: str, *aliases: str, article: str = "") -> Value:
    """A proper name. `article` makes the markup a piped wiki link, as disambiguated titles have."""
    markup = f"[[{article}|{text}]]" if article else f"[[{text}]]"
    return Value(text, AnswerType.NAME, _unique(text, *aliases), text, markup=markup)


def phrase(text: str, *aliases: str, markup: str = "") -> Value:
    """A few words that are no proper name."""
    return Value(text, AnswerType.TEXT, _unique(text, *aliases), text, markup=markup)


def spoken_list(items: tuple[str, ...]) -> str:
    """Items joined as one says them: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def several(items: tuple[str, ...]) -> Value:
    """A set of names; the order does not matter."""
    return Value(
        spoken_list(items),
        AnswerType.SET,
        items,
        list(items),
        markup="<br />".join(items),
        items=items,
    )


def yes_no(answer: bool) -> Value:
    """A yes or a no."""
    return Value("yes" if answer else "no", AnswerType.BOOLEAN, ("yes",) if answer else ("no",), answer)


def unknown() -> Value:
    """What nobody can find out here: the right answer is to say so."""
    return Value("", AnswerType.UNANSWERABLE, ("I don't know",))
