"""Numbers in digits, words and both: "1,234.50", "1.234,50", "2.5 million", "½", "one hundred and one"."""

import re
import unicodedata
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from language.words import remembered

_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SCALES = {
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "trillion": 1e12,
    "bn": 1e9,
    "mn": 1e6,
    "tn": 1e12,
}
_VALUES = {word: float(i) for i, word in enumerate(f"zero {_ONES} {_TEENS}".split())}
_VALUES |= {word: 10.0 * i for i, word in enumerate(_TENS.split(), start=2)}
_VALUES |= {"hundred": 100.0, "dozen": 12.0, **_SCALES}
_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth"}
_IRREGULAR |= {"nine": "ninth", "twelve": "twelfth"}
_ORDINALS = {
    _IRREGULAR.get(word, word.removesuffix("y") + ("ieth" if word.endswith("y") else "th")): value
    for word, value in _VALUES.items()
}
_PARTS = {"halves": 2, "thirds": 3, "quarters": 4, "fifths": 5, "eighths": 8, "tenths": 10}


def _any(words: str) -> str:
    return rf"(?:{'|'.join(words.split())})\b"


# Atomic groups: "one thousand and twenty-two thousand" is two numbers, and none of them ends in "twenty".
_BELOW_100 = rf"(?>{_any(_TENS)}(?:[- ]{_any(_ONES)})?|{_any(_TEENS)}|{_any(_ONES)})"
_HUNDREDS = rf" hundred\b(?:(?: and)? {_BELOW_100}(?! hundred))?"
_BELOW_1000 = rf"(?>{_BELOW_100}(?:{_HUNDREDS})?)"
_SCALED = rf"[ -](?P<scale>{_any(' '.join(_SCALES))})(?:(?: and)? {_BELOW_1000}(?![ -](?P=scale)))?"
_SPOKEN_YEAR = rf"{_any(_TEENS + ' twenty')}[- ](?:{_any(_TEENS)}|{_any(_TENS)}(?:[- ]{_any(_ONES)})?)"
_SPELLED = re.compile(
    rf"(?<![\w'’])(?:(?P<ordinal>(?:{_BELOW_100} hundred(?: and)? )?(?:{_any(_TENS)}(?:-| (?!second\b)))?"
    rf"{_any(' '.join(_ORDINALS))})"
    rf"|(?:{_SPOKEN_YEAR}|(?:half )?an?(?:{_HUNDREDS}|(?= (?:dozen|{'|'.join(_SCALES)})\b))|{_BELOW_1000}"
    rf"|zero\b|half\b)(?: and a half\b)?(?: dozen\b|(?:{_SCALED}){{0,4}})"
    rf"(?:[- ](?P<part>{_any(' '.join(_PARTS))}))?)"
)
_NOT_COUNTING = {
    "one": frozenset({"no", "any", "every", "some", "this", "that", "the", "each", "which", "another"}),
    "second": frozenset({"a", "per", "each", "every", *_VALUES}),
    "half": frozenset({"the", "first", "second", "other", "a", "top", "bottom", "better"}),
}
"""Words that are no number after some others: "this one" is a thing, "per second" a unit."""
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
"""Unlike `str.lower`, keeps every offset."""
_WORD_BEFORE = re.compile(r"(\w+)[ -]\Z")
_DENOMINATORS = frozenset({2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64, 100})
"""Denominators in use; other pairs with a slash are dates and scores."""
MOST_DIGITS = 18
"""Digits of a number that counts something; longer ones are codes."""

_SPACE = "[ \u00a0\u202f\u2009]"
_DIGITS = re.compile(
    rf"(?<![\w:])(?:(?<![^\W\d_]-)|(?<=[Mm]id-)|(?<=[Pp]re-)|(?<=[Pp]ost-))(?<!\d[.,/'’])(?P<sign>(?<!\S)(?<!\d{_SPACE})[-−]|(?<=\()[-−])?"
    rf"(?:(?P<spaced>\d{{1,3}}(?:{_SPACE}\d{{3}}(?!\d)){{1,5}}(?:[.,]\d+)?)|(?P<plain>\d+(?:[.,'’]\d+)*))"
    rf"(?!:\d)(?:(?P<vulgar> ?[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])|{_SPACE}(?P<over>\d{{1,2}})/(?P<under>\d{{1,3}})(?![\d/]))?"
    rf"|(?P<alone>[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])"
)
_SLASH = re.compile(r"/(\d{1,8})(?!\d)(/?)")
_AND_A_HALF = re.compile(r" and a half\b")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_SCALE = re.compile(rf"(?:{_SPACE}|-)?(hundred|thousand|million|billion|trillion|bn|mn|tn)\b", re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:([,.'’])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?|0,\d+|\d+,\d{1,2}")


@dataclass(frozen=True, slots=True)
class Number:
    """`text` equals `source[start:end]`. `step`: what one more in its last place is worth (0.1 million)."""

    value: float
    start: int
    end: int
    text: str
    ordinal: bool = False
    step: float = 1.0


@remembered(512)
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of a text in order; not those within codes ("A380", "12B"), clock times or lists."""
    return tuple(n for n in every_number(text) if n.ordinal or not text[n.end : n.end + 1].isalpha())


@remembered(512)
def every_number(text: str) -> tuple[Number, ...]:
    """As `numbers`, with those that letters follow at once, which may be units ("500g")."""
    found = [_of_digits(text, match) for match in _DIGITS.finditer(text)]
    found += [_of_words(text, match) for match in _SPELLED.finditer(text.translate(_LOWER))]
    return tuple(sorted((each for each in found if each is not None), key=lambda number: number.start))


def amount(digits: str, *, thousands: bool = False) -> float | None:
    """The value of digits with their separators; None for a list, date, version or code.

    "1.234" is a decimal unless `thousands` says that its dot groups thousands; "1,234" always groups.
    """
    plain = re.sub(_SPACE, "", digits)
    if sum(c.isdigit() for c in plain) > MOST_DIGITS:
        return None
    grouped = _GROUPED.fullmatch(plain)
    if grouped and not plain.startswith("0"):
        mark = grouped[1]
        if thousands or mark != "." or plain.count(mark) > 1 or "," in plain:
            return float(plain.replace(mark, "").replace(",", "."))
    return float(plain.replace(",", ".")) if _DECIMAL.fullmatch(plain) else None


def _of_digits(text: str, match: re.Match[str]) -> Number | None:
    digits = match["spaced"] or match["plain"] or ""
    value = amount(digits) if digits else 0.0
    if value is None:
        return None
    decimals = re.search(r"[.,](\d+)\Z", digits)
    step = 10.0 ** -len(decimals[1]) if decimals and value != int(value) else 1.0
    more, end = _fraction_after(text, match, value)
    if more is None:
        return None
    if more:
        value, step = more, 0.01
    ordinal = _ORDINAL.match(text, end)
    end = ordinal.end() if ordinal else end
    for _ in range(2):  # "2 hundred thousand"
        scale = _SCALE.match(text, end)
        if scale is None:
            break
        factor = _VALUES[scale[1].lower()]
        value, step, end = value * factor, step * factor, scale.end()
    value = -value if match["sign"] else value
    return Number(value, match.start(), end, text[match.start() : end], ordinal is not None, step)


def _fraction_after(text: str, match: re.Match[str], value: float) -> tuple[float | None, int]:
    """Value and end with the fraction that follows, if any: 0.0 if none, None where it makes it no number."""
    vulgar, over = match["vulgar"] or match["alone"], match["over"]
    if vulgar:
        return value + unicodedata.numeric(vulgar[-1]), match.end()
    if over:
        part = _ratio(float(over), match["under"])
        return (value + part, match.end()) if part else (0.0, match.start("over") - 1)
    slash = _SLASH.match(text, match.end())
    if slash:
        return (None if slash[2] else _ratio(value, slash[1])), slash.end()
    half = _AND_A_HALF.match(text, match.end())
    return (value + 0.5, half.end()) if half else (0.0, match.end())


def _ratio(over: float, under: str) -> float | None:
    return over / int(under) if int(under) in _DENOMINATORS and over < int(under) else None


def _of_words(text: str, match: re.Match[str]) -> Number | None:
    said = re.split(r"[ -]", match.group())
    before = _WORD_BEFORE.search(text[max(0, match.start() - 12) : match.start()])
    if before and before[1].lower() in _NOT_COUNTING.get(said[0], ()):
        return None
    total = current = 0.0
    worth = 1.0
    for word in said:
        worth = {**_ORDINALS, **_VALUES}.get(word, 0.0)
        if worth >= 1000:
            total, current = total + (current or 1.0) * worth, 0.0
        elif worth in {12.0, 100.0} and word not in {"twelve", "twelfth"}:
            current = (current or 1.0) * worth
        elif worth >= 10 and 10 <= current < 100:
            current = current * 100 + worth  # a year as it is spoken: "nineteen eighty"
        else:
            current += 0.5 if word == "half" else worth
    value, step = total + current, max(1.0, worth if worth >= 100 else 1.0)
    if match["part"]:
        value, step = value / _PARTS[match["part"]], 0.01
    start, end = match.span()
    return Number(value, start, end, text[start:end], match["ordinal"] is not None, step)
