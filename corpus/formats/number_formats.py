"""Numbers and dates of spreadsheets as their cells show them (ECMA-376, part 1, 18.8.30 and 18.8.31)."""

import math
import re
from datetime import datetime, timedelta

BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    14: "yyyy-mm-dd",
    15: "d mmm yyyy",
    16: "d mmm",
    17: "mmm yyyy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm",
    37: "#,##0",
    38: "#,##0",
    39: "#,##0.00",
    40: "#,##0.00",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss",
    48: "0.0E+0",
}
"""Formats without a code in the file. Short dates depend on the reader's country; these are ISO 8601."""

_TOKEN = re.compile(
    r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[([hms]+)\]|\[[^\]]*\]|_.|\*.|(AM/PM|A/P)|(y+|m+|d+|h+|s+|\.0+)|(.)',
    re.IGNORECASE | re.DOTALL,
)
_IS_DATE = re.compile(r"[ymdhs]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|_.|\*.', re.IGNORECASE | re.DOTALL)
_DIGITS = re.compile(r"[#0?][#0?,. ]*")
_LARGEST_DAY = 2_958_466
"""The day after 31 December 9999."""


def shown_number(value: float, code: str, epoch: datetime) -> str:
    """Return the number as its cell shows it. `epoch`: day 0 of the workbook."""
    sections = code.split(";")
    section = sections[0]
    if value < 0 and len(sections) > 1 and sections[1]:
        section, value = sections[1], -value
    elif value == 0 and len(sections) > 2:
        section = sections[2]
    bare = _QUOTED.sub("", section)
    if not math.isfinite(value):
        return ""
    if section.casefold() in ("", "general", "@"):
        return _general(value)
    if not bare.strip():
        return _literals(section)
    if _IS_DATE.search(bare.replace("General", "")) and "E+" not in bare:
        return _date(value, section, epoch) if 0 <= value < _LARGEST_DAY else _general(value)
    return _number(value, section, bare)


def _general(value: float) -> str:
    return f"{value:.15g}" if 1e-4 <= abs(value) < 1e15 or value == 0 else f"{value:.10g}"


def _number(value: float, section: str, bare: str) -> str:
    """Return the digits of a number with the literal text around them, such as a currency."""
    if "/" in bare:
        return _general(value)
    match = _DIGITS.search(bare)
    if match is None:
        return _literals(section)
    pattern = match[0].strip()
    whole, _, fraction = pattern.partition(".")
    value *= 100 ** bare.count("%")
    value /= 1000 ** (len(pattern) - len(pattern.rstrip(",")))
    optional = len(fraction.rstrip(",").rstrip("#?"))
    decimals = min(len(fraction.rstrip(",")), 30)
    if "E+" in bare or "E-" in bare:
        return f"{value:.{decimals}E}"
    digits = f"{value:{',' if ',' in whole.strip(',') else ''}.{decimals}f}"
    if optional < decimals:
        shortest = len(digits) - (decimals - optional)
        digits = digits[:shortest] + digits[shortest:].rstrip("0")
    digits = digits.rstrip(".")
    least = whole.replace(",", "").count("0")
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    digits = (
        digits.zfill(least + len(digits) - len(digits.partition(".")[0])) if "," not in digits else digits
    )
    before, after = _around(section)
    return f"{before}{sign}{digits}{after}".strip()


def _around(section: str) -> tuple[str, str]:
    """Return the literal text before and after the digits."""
    before, after, is_behind = "", "", False
    for quoted, escaped, currency, _, _, letters, other in _TOKEN.findall(section):
        if other in tuple("#0?") or letters.startswith("."):
            is_behind = True
            continue
        text = quoted or escaped or currency or (other if other not in ",.;" else "") or letters
        if is_behind:
            after += text
        else:
            before += text
    return before, after


def _literals(section: str) -> str:
    return "".join(_around(section)).strip()


def _date(value: float, section: str, epoch: datetime) -> str:
    moment = epoch + timedelta(seconds=round(value * 86_400))
    tokens = _TOKEN.findall(section)
    has_noon = any(noon for *_, noon, _, _ in tokens)
    text, previous = "", ""
    for place, (quoted, escaped, currency, elapsed, noon, letters, other) in enumerate(tokens):
        code = letters.casefold()
        if elapsed:
            code, text = elapsed.casefold(), text + _elapsed(value, elapsed.casefold())
        elif noon:
            text += "AM" if moment.hour < 12 else "PM"
        elif code.startswith("m") and len(code) < 3 and (previous == "h" or _next_code(tokens, place) == "s"):
            text += f"{moment.minute:0{len(code)}d}"
        elif code:
            text += _part(moment, code, has_noon)
        else:
            text += quoted or escaped or currency or other
        previous = code[:1] or previous
    return text.strip()


def _next_code(tokens: list[tuple[str, ...]], place: int) -> str:
    return next((letters[:1].casefold() for *_, letters, _ in tokens[place + 1 :] if letters), "")


def _elapsed(value: float, code: str) -> str:
    unit = {"h": 3_600, "m": 60, "s": 1}[code[0]]
    return f"{round(value * 86_400) // unit:0{len(code)}d}"


def _part(moment: datetime, code: str, has_noon: bool) -> str:
    hour = (moment.hour % 12 or 12) if has_noon else moment.hour
    parts = {
        "y": moment.strftime("%Y") if len(code) > 2 else moment.strftime("%y"),
        "m": (str(moment.month), f"{moment.month:02d}", moment.strftime("%b"), moment.strftime("%B")),
        "d": (str(moment.day), f"{moment.day:02d}", moment.strftime("%a"), moment.strftime("%A")),
        "h": (str(hour), f"{hour:02d}"),
        "s": (str(moment.second), f"{moment.second:02d}"),
        ".": "",
    }
    part = parts[code[0]]
    return part if isinstance(part, str) else part[min(len(code), len(part)) - 1]
