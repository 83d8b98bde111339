"""Values in a text: money, quantities, dates, clock times, numbers, phone numbers; spans are verbatim."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from gateway.reasoning.extractive.units import UNITS, unit_named


class Kind(StrEnum):
    """What a span is."""

    MONEY = "money"
    QUANTITY = "quantity"
    PERCENT = "percent"
    DATE = "date"
    TIME = "time"
    WEEKDAY = "weekday"
    NUMBER = "number"
    PHONE = "phone"
    NAME = "name"
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True)
class Value:
    """A span `source[start:end] == text`; `number` in `unit` (money: the currency; dates: the year)."""

    kind: Kind
    text: str
    start: int
    end: int
    number: float | None = None
    unit: str = ""
    dimension: str = ""
    month: int = 0
    day: int = 0

    @property
    def base(self) -> float | None:
        """The number in the dimension's base unit, for comparing."""
        if self.number is None:
            return None
        unit = UNITS.get(self.unit)
        return self.number * unit.factor if unit else self.number


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS: dict[str, float] = {w: float(i) for i, w in enumerate(_ONES.split())}
NUMBER_WORDS |= {w: 10.0 * (i + 2) for i, w in enumerate(_TENS.split())}
NUMBER_WORDS |= {"dozen": 12.0, "hundred": 100.0, "half": 0.5}
NUMBER_WORDS |= {
    f"{tens}-{one}": NUMBER_WORDS[tens] + NUMBER_WORDS[one]
    for tens in _TENS.split()
    for one in _ONES.split()[1:10]
}
_WORD_NUMBER = "|".join(sorted((re.escape(w) for w in NUMBER_WORDS), key=len, reverse=True))

NUMBER = r"(?:\d{1,3}(?:[,\u00a0\u202f']\d{3})+(?:\.\d+)?|\d{1,3}(?: \d{3})+(?!\d)|\d+[.,]\d+|\d+)"
_SCALE = r"(?:\s*(?:million|billion|thousand|bn|k|m)\b)?"
_CODES = r"EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN|CZK|INR|CNY"
_SYMBOLS = r"[€$£¥₹]"
_CURRENCY_WORDS = r"euros?|dollars?|pounds?(?: sterling)?|francs?|yen|cents?|pence|crowns?|rupees?|zloty"
_MONEY = re.compile(
    rf"(?P<sym>{_SYMBOLS}|\b(?:{_CODES})\b)\s?(?P<n1>{NUMBER}){_SCALE}"
    rf"|(?<![\w.])(?P<n2>{NUMBER}){_SCALE}\s?(?P<cur>{_SYMBOLS}|(?:{_CODES}|{_CURRENCY_WORDS})\b)",
    re.I,
)
_CURRENCIES = {
    "€": "EUR",
    "$": "USD",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "euro": "EUR",
    "dollar": "USD",
    "pound": "GBP",
    "franc": "CHF",
    "yen": "JPY",
    "cent": "CENT",
    "pence": "CENT",
    "crown": "CROWN",
    "rupee": "INR",
    "zloty": "PLN",
    "pound sterling": "GBP",
}
_UNIT_WORDS = "|".join(sorted((re.escape(u).replace(r"\ ", r"[\s-]") for u in UNITS), key=len, reverse=True))
_QUANTITY = re.compile(
    (
        rf"(?<![\w.,/])(?P<n>{NUMBER}|"
        rf"\b(?:{_WORD_NUMBER}))(?:\s?[–-]\s?(?P<hi>{NUMBER}))?[\s-]?(?P<u>{_UNIT_WORDS})(?![\w²³/])"
    ),
    re.I,
)
_PERCENT = re.compile(rf"(?<![\w.,])(?P<n>{NUMBER})\s?(?:%|per ?cent\b)", re.I)
MONTHS = {
    m: i + 1
    for i, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ]
    )
    for m in names.split()
}
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_YEAR = r"(?:1\d{3}|20\d{2})"
_DATE = re.compile(
    rf"(?<![\w.,/-])(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|"
    rf"th)?(?: of)? (?P<m1>{_MONTH})\b\.?(?:,? (?P<y1>{_YEAR})\b)?"
    rf"|(?P<m2>{_MONTH})\b\.? (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<y2>{_YEAR})\b)?"
    rf"|(?P<m3>{_MONTH})\b\.?,? (?P<y3>{_YEAR})\b"
    rf"|(?P<y4>{_YEAR})-(?P<m4>\d\d)-(?P<d4>\d\d)\b"
    rf"|(?P<d5>\d{{1,2}})[/.](?P<m5>\d{{1,2}})[/.](?P<y5>{_YEAR})\b"
    rf"|(?P<y6>{_YEAR})(?:s\b|(?![\w%]|[.,]\d|-\d\d?\b)))",
    re.I,
)
_TIME = re.compile(
    r"(?<![\w.:])(?:(?P<h>[01]?\d|2[0-4])(?:[:.h](?P<mi>[0-5]\d))?\s?(?P<ap>[ap]\.?\s?m\b\.?)"
    r"|(?P<h2>[01]?\d|2[0-4])[:h](?P<mi2>[0-5]\d)(?!\d)|(?P<w>noon|midnight|midday)\b"
    r"|(?P<h3>[01]?\d|2[0-4])\s?(?:o'clock|h\b(?!\w)|uhr))",
    re.I,
)
_PHONE = re.compile(r"(?<![\w.])(?:\+\d{1,3}[\s().-]?)?(?:\(?\d{2,5}\)?[\s./-]?){2,5}\d{2,4}(?![\w])")
_PLAIN = re.compile(
    rf"(?<![\w.,/])(?:{NUMBER})(?:\s(?:million|billion|thousand)\b)?(?![\w/]|[.,]\d)|\b(?:{_WORD_NUMBER})\b",
    re.I,
)


def parse_number(text: str) -> float | None:
    """`1,250`, `4,50`, `12`, `three`, `2.5 million` as a float; None when it is no number."""
    raw = text.strip().lower()
    if raw in NUMBER_WORDS:
        return NUMBER_WORDS[raw]
    match = re.match(rf"({NUMBER})\s*(million|billion|thousand|bn|k|m)?", raw)
    if match is None:
        return None
    digits = re.sub(r"[\u00a0\u202f' ]", "", match.group(1))
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    scale = {"million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9, "thousand": 1e3, "k": 1e3}
    return float(digits.replace(",", ".")) * scale.get(match.group(2) or "", 1.0)


def money(text: str) -> Iterator[Value]:
    """Amounts with a currency sign, code or word."""
    for m in _MONEY.finditer(text):
        mark = (m["sym"] or m["cur"]).strip().lower()
        currency = _CURRENCIES.get(mark) or _CURRENCIES.get(mark.rstrip("s")) or mark.upper()
        amount = parse_number(text[m.start("n1") if m["n1"] else m.start("n2") : m.end()])
        if currency == "CENT" and amount is not None:
            amount, currency = amount / 100, ""
        yield Value(
            Kind.MONEY,
            m.group().strip(),
            m.start(),
            m.start() + len(m.group().strip()),
            amount,
            currency,
            "money",
        )


def quantities(text: str) -> Iterator[Value]:
    """Numbers with a unit of measure; of a range, the upper end counts."""
    for m in _QUANTITY.finditer(text):
        unit = unit_named(m["u"])
        if unit is None or re.fullmatch(r"\d{4}s", m.group()):
            continue
        number = parse_number(m["hi"] or m["n"])
        yield Value(Kind.QUANTITY, m.group(), m.start(), m.end(), number, unit.name, unit.dimension)


def percents(text: str) -> Iterator[Value]:
    """Percentages."""
    for m in _PERCENT.finditer(text):
        yield Value(Kind.PERCENT, m.group(), m.start(), m.end(), parse_number(m["n"]), "%", "percent")


def dates(text: str) -> Iterator[Value]:
    """Dates and years; `number` is the year (None when not said)."""
    for m in _DATE.finditer(text):
        got = {k[0]: v for k, v in m.groupdict().items() if v}
        month = got.get("m", "0")
        number = int(month) if month.isdigit() else MONTHS[month.lower()]
        day = int(got.get("d", "0"))
        if number > 12 or day > 31:
            continue
        year = float(got["y"]) if "y" in got else None
        yield Value(
            Kind.DATE,
            m.group().rstrip(",. "),
            m.start(),
            m.start() + len(m.group().rstrip(",. ")),
            year,
            "",
            "date",
            number,
            day,
        )


def times(text: str) -> Iterator[Value]:
    """Clock times; `number` is the minute of the day."""
    for m in _TIME.finditer(text):
        if m["w"]:
            minutes = 0.0 if m["w"].lower() == "midnight" else 720.0
        else:
            hour = int(m["h"] or m["h2"] or m["h3"])
            minutes = hour * 60.0 + int(m["mi"] or m["mi2"] or 0)
            half = (m["ap"] or "").lower()
            if half.startswith("p") and hour < 12:
                minutes += 720
            elif half.startswith("a") and hour == 12:
                minutes -= 720
        yield Value(Kind.TIME, m.group(), m.start(), m.end(), minutes, "", "clock")


WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(r"\b(?P<d>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?\b", re.I)


def weekdays(text: str) -> Iterator[Value]:
    """Days of the week; `number` counts from Monday = 0."""
    for m in _WEEKDAY.finditer(text):
        if m.group() in {"sun", "sat", "wed"}:
            continue
        number = next(i for i, day in enumerate(WEEKDAYS) if day.startswith(m["d"].lower()[:3]))
        yield Value(Kind.WEEKDAY, m.group(), m.start(), m.end(), float(number), "", "weekday")


def phones(text: str) -> Iterator[Value]:
    """Telephone numbers of at least seven digits."""
    for m in _PHONE.finditer(text):
        if sum(c.isdigit() for c in m.group()) >= 7 and not any(True for _ in dates(m.group())):
            yield Value(Kind.PHONE, m.group().strip(), m.start(), m.end())


def numbers(text: str) -> Iterator[Value]:
    """Bare numbers that are no date, money, quantity, percentage or time."""
    taken = [v for find in (money, quantities, percents, times) for v in find(text)]
    taken += [v for v in dates(text) if v.month]
    for m in _PLAIN.finditer(text):
        if not any(v.start < m.end() and m.start() < v.end for v in taken):
            yield Value(Kind.NUMBER, m.group(), m.start(), m.end(), parse_number(m.group()))


@lru_cache(maxsize=4096)
def find_values(text: str, kind: Kind) -> tuple[Value, ...]:
    """All values of one kind in the text, in order. Names and phrases are found elsewhere."""
    finders = {
        Kind.MONEY: money,
        Kind.QUANTITY: quantities,
        Kind.PERCENT: percents,
        Kind.DATE: dates,
        Kind.TIME: times,
        Kind.NUMBER: numbers,
        Kind.PHONE: phones,
        Kind.WEEKDAY: weekdays,
    }
    finder = finders.get(kind)
    return tuple(finder(text)) if finder else ()
