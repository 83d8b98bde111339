"""Wikitext to plain text in one pass over a stack: linear time, any nesting, no way to fail."""

import calendar
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_MARK = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")
_CLOSES = {"}}": "{{", "]]": "[["}
_EXTERNAL_LINK = re.compile(r"\[(?:https?:)?//[^\s\[\]]+(?:\s+([^\[\]]*))?\]")
_EMPHASIS = re.compile(r"'{2,}")
_HEADING = re.compile(r"^(={1,6})([^=\n]+)\1[ \t]*$", re.MULTILINE)
_LIST_MARK = re.compile(r"^[ \t]*[*#;]+[ \t]*", re.MULTILINE)
_TABLE_RULE = re.compile(r"^[ \t]*(?:\{\||\|[-+}]).*$", re.MULTILINE)
_TABLE_CELL = re.compile(r"^[ \t]*[|!]+[ \t]*|[ \t]*(?:\|\||!!)[ \t]*", re.MULTILINE)
_SWITCH = re.compile(r"__[A-Z]+__")
_NAMED = re.compile(r"\s*[A-Za-z][\w -]*\s*=(?!=)|\s*\d+\s*=(?!=)")
_NUMBER = re.compile(r"[-−+]?[\d.,/⁄]*\d")
_HIDDEN_LINKS = ("file:", "image:", "category:")

Arguments = Sequence[str]


@dataclass(slots=True)
class _Frame:
    """An open `{{` or `[[`: its parts so far, the last one still growing."""

    opener: str
    parts: list[list[str]] = field(default_factory=lambda: [[]])

    def texts(self) -> list[str]:
        return ["".join(part) for part in self.parts]


def strip_wikitext(text: str) -> str:
    """Links to their labels, templates to what a reader would see, emphasis and list marks away."""
    plain = _SWITCH.sub("", text)
    if "{|" in plain:
        plain = _TABLE_CELL.sub("\n", _TABLE_RULE.sub("", plain))
    plain = _unnest(plain)
    plain = _EXTERNAL_LINK.sub(lambda match: match[1] or "", plain)
    plain = _HEADING.sub(r"\2", plain)
    return _LIST_MARK.sub("", _EMPHASIS.sub("", plain))


def _unnest(text: str) -> str:
    stack = [_Frame("")]
    end = 0
    for match in _MARK.finditer(text):
        stack[-1].parts[-1].append(text[end : match.start()])
        end = match.end()
        mark = match.group()
        if mark in ("{{", "[["):
            stack.append(_Frame(mark))
        elif mark == "|":
            _divide(stack[-1])
        elif stack[-1].opener == _CLOSES[mark]:
            frame = stack.pop()
            stack[-1].parts[-1].append(_render(frame))
        # A closer without its opener is dropped.
    stack[-1].parts[-1].append(text[end:])
    return "".join(" ".join(frame.texts()) for frame in stack)


def _divide(frame: _Frame) -> None:
    if frame.opener:
        frame.parts.append([])
    else:
        frame.parts[-1].append("|")


def _render(frame: _Frame) -> str:
    parts = [part.strip() for part in frame.texts()]
    if frame.opener == "[[":
        return _link(parts)
    name = parts[0].lower().replace("_", " ")
    arguments = [part for part in parts[1:] if part and not _NAMED.match(part)]
    return _template(name)(arguments)


def _link(parts: Sequence[str]) -> str:
    if parts[0].lower().startswith(_HIDDEN_LINKS):
        return ""
    return parts[-1] or parts[0].partition("(")[0].lstrip(":").strip()


def _template(name: str) -> Callable[[Arguments], str]:
    if name in _TEMPLATES:
        return _TEMPLATES[name]
    if name.startswith(_HIDDEN_TEMPLATES):
        return _nothing
    if name.startswith(("birth", "death", "start date", "end date", "film date", "release date", "date")):
        return _date
    return _first if name.startswith(("lang", "nihongo", "ill", "transl")) else _all


def _nothing(_: Arguments) -> str:
    return ""


def _all(arguments: Arguments) -> str:
    return ", ".join(arguments)


def _first(arguments: Arguments) -> str:
    """Templates whose argument of interest is the first that is not a language code."""
    worded = [each for each in arguments if not re.fullmatch(r"[a-z]{2,3}(-\w+)?", each)]
    return (worded or [""])[0]


def _last(arguments: Arguments) -> str:
    return (list(arguments) or [""])[-1]


def _convert(arguments: Arguments) -> str:
    """`convert|5|to|10|km|mi` -> `5 to 10 km`; the first unit is the one the writer measured in.

    A second number and unit belong to it only in pairs such as feet and inches.
    """
    shown: list[str] = []
    for place, argument in enumerate(arguments):
        if _NUMBER.match(argument) or argument in _RANGES:
            shown.append(_RANGES.get(argument, argument))
            continue
        shown.append(_UNITS.get(argument, argument))
        if tuple(arguments[place::2][:2]) in _UNIT_PAIRS:
            shown.extend(arguments[place + 1 : place + 3])
        break
    return " ".join(shown)


def _date(arguments: Arguments) -> str:
    """`1907|5|14` -> `14 May 1907`; anything after the first date (as in `birth date and age`) is dropped."""
    numbers = [int(each) for each in arguments[:3] if re.fullmatch(r"\d{1,4}", each)]
    if not numbers:
        return _all(arguments)
    year, *rest = numbers
    if not rest or not 1 <= rest[0] <= 12:
        return str(year)
    month = calendar.month_name[rest[0]]
    return f"{rest[1]} {month} {year}" if len(rest) > 1 and 1 <= rest[1] <= 31 else f"{month} {year}"


def _about(arguments: Arguments) -> str:
    return f"c. {_last(arguments)}"


def _fraction(arguments: Arguments) -> str:
    whole, over = list(arguments[:-2]), list(arguments[-2:])
    return " ".join([*whole, "/".join(over)])


def _joined(separator: str) -> Callable[[Arguments], str]:
    return lambda arguments: separator.join(arguments)


def _money(sign: str) -> Callable[[Arguments], str]:
    return lambda arguments: f"{sign}{arguments[0]}" if arguments else ""


_RANGES = {
    "to": "to",
    "-": "to",
    "–": "to",
    "and": "and",
    "or": "or",
    "by": "×",
    "x": "×",
    "×": "×",
    "+/-": "±",
}
_UNIT_PAIRS = {("ft", "in"), ("lb", "oz"), ("st", "lb"), ("yd", "ft"), ("mi", "yd")}
_UNITS = {"sqmi": "sq mi", "sqft": "sq ft", "km2": "km²", "m2": "m²", "cm2": "cm²", "m3": "m³", "cm3": "cm³"}
_HIDDEN_TEMPLATES = (
    "cite",
    "citation",
    "efn",
    "refn",
    "sfn",
    "ref",
    "note",
    "flagicon",
    "clarify",
    "better source",
    "dubious",
    "anchor",
    "coord",
    "update",
    "when",
    "clear",
    "#",
)
_TEMPLATES: dict[str, Callable[[Arguments], str]] = {
    "convert": _convert,
    "cvt": _convert,
    "circa": _about,
    "c.": _about,
    "frac": _fraction,
    "fraction": _fraction,
    "sfrac": _fraction,
    "val": _joined(" "),
    "nbsp": lambda _: " ",
    "snd": lambda _: " – ",
    "spaced ndash": lambda _: " – ",
    "ndash": lambda _: "–",
    "·": lambda _: ", ",
    "!": lambda _: " ",
    "=": lambda _: "=",
    "usd": _money("$"),
    "us$": _money("$"),
    "gbp": _money("£"),
    "£": _money("£"),
    "eur": _money("€"),
    "€": _money("€"),
    "inr": _money("₹"),
    "jpy": _money("¥"),
    "url": _last,
    "color": _last,
    "font color": _last,
    "abbr": _first,
    "sort": _last,
    "sortname": lambda arguments: " ".join(arguments[:2]),
    "hover title": _last,
    "start and end dates": _date,
    "flag": _first,
    "marriage": lambda arguments: " ".join(arguments[:1]),
}
