"""XLSX: the visible sheets in their order, as tables of what their cells show.

The XML is read directly: openpyxl gives no merged cells where it reads row by row, and no raised figures.
Numbers and dates are written as the cell's format says (ECMA-376, part 1, 18.8.30 and 18.8.31).
"""

import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from lxml.etree import _Element
from lxml.html.builder import E

from corpus.formats.package import RAISED, Package, attribute, child, children, local_name, relation_id
from corpus.formats.tables import MOST_CELLS, Cells, sheet_blocks, sheet_rows
from corpus.inline import append_text, spell_out
from corpus.pages import Page
from corpus.visible import clean_line

_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_MOST_COLUMNS = 16_384

_BUILT_IN = {
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


def read_sheets(content: bytes) -> Page:
    """Read a workbook. Formulas are read as their last values. Raises `NoContent`."""
    package = Package(content)
    main = package.main_part("xl/workbook.xml")
    book, parts = package.xml(main), package.related(main)
    workbook = _Workbook(package, book, {kind: name for kind, name in parts.values() if name in package})
    visible = [
        (attribute(each, "name"), parts.get(relation_id(each), ("", ""))[1])
        for each in children(child(book, "sheets"), "sheet")
        if attribute(each, "state") in ("", "visible")
    ]
    sheets = ((name, workbook.rows(package.xml(part)) if part in package else []) for name, part in visible)
    blocks = tuple(sheet_blocks(sheets, named=len(visible) > 1))
    title, modified = package.properties()
    return Page("", title, blocks, modified)


class _Workbook:
    """The texts, number formats and first day that the sheets share."""

    def __init__(self, package: Package, book: _Element, parts: dict[str, str]) -> None:
        is_1904 = attribute(child(book, "workbookPr"), "date1904") in ("1", "true")
        self._epoch = _EPOCH_1904 if is_1904 else _EPOCH
        texts = package.xml(parts["sharedStrings"]) if "sharedStrings" in parts else None
        self._texts = [_rich_text(each) for each in children(texts, "si")]
        styles = package.xml(parts["styles"]) if "styles" in parts else None
        codes = {
            attribute(each, "numFmtId"): attribute(each, "formatCode")
            for each in children(child(styles, "numFmts"), "numFmt")
        }
        self._formats = [
            codes.get(number) or _BUILT_IN.get(int(number) if number.isdecimal() else 0, "")
            for number in (attribute(each, "numFmtId") for each in children(child(styles, "cellXfs"), "xf"))
        ]

    def rows(self, sheet: _Element) -> list[list[str]]:
        """Return the rows of a sheet with a cell for each used column. Raises `NoContent`."""
        cells: Cells = {}
        for number, row in enumerate(children(child(sheet, "sheetData"), "row"), 1):
            place = attribute(row, "r")
            cells[int(place) if place.isdecimal() else number] = dict(self._row(row))
        _fill_merged(cells, child(sheet, "mergeCells"))
        return sheet_rows(cells)

    def _row(self, row: _Element) -> Iterator[tuple[int, str]]:
        column = 0
        for cell in children(row, "c"):
            column = _column(attribute(cell, "r")) or column + 1
            if text := clean_line(self._text(cell)):
                yield column, text

    def _text(self, cell: _Element) -> str:
        kind, value = cell.get("t", "n"), child(cell, "v")
        text = "" if value is None else value.text or ""
        if kind == "s":
            return self._texts[int(text)] if text.isdecimal() and int(text) < len(self._texts) else ""
        if kind == "inlineStr":
            inline = child(cell, "is")
            return "" if inline is None else _rich_text(inline)
        if kind == "b":
            return "yes" if text == "1" else "no"
        if kind != "n":
            return text
        style = cell.get("s", "0")
        has_format = style.isdecimal() and int(style) < len(self._formats)
        try:
            return shown_number(float(text), self._formats[int(style)] if has_format else "", self._epoch)
        except (ValueError, OverflowError):
            return ""


def _rich_text(item: _Element) -> str:
    """Return the text of a cell, with powers as in "m³" and without marks of notes."""
    paragraph = E.p()
    for part in item:
        text = part if local_name(part) == "t" else child(part, "t")
        raised = RAISED.get(attribute(child(part, "rPr", "vertAlign"), "val"))
        shown = "" if text is None or local_name(part) == "rPh" else text.text or ""
        append_text(paragraph, shown, raised)
    if paragraph.find("sup") is not None:
        spell_out(paragraph)
    return str(paragraph.text_content())


def _fill_merged(cells: Cells, merged: _Element | None) -> None:
    """Write the text of merged cells into each used row and column that they cover.

    Those that cover a whole row stay as they are: they are titles.
    """
    used = {column for row in cells.values() for column in row}
    left = MOST_CELLS
    for each in children(merged, "mergeCell"):
        start, _, end = attribute(each, "ref").partition(":")
        first_row, last_row, first, last = _row_number(start), _row_number(end), _column(start), _column(end)
        text = cells.get(first_row, {}).get(first, "")
        columns = [column for column in used if first <= column <= last]
        if not text or (first_row == last_row and len(columns) == len(used)):
            continue
        for number in [row for row in cells if first_row <= row <= last_row]:
            left -= len(columns)
            if left < 0:
                return
            cells[number].update({column: text for column in columns if column not in cells[number]})


def _column(reference: str) -> int:
    """Return the number of a cell's column, from 1: 28 of "AB7"; 0 of nonsense."""
    number = 0
    for letter in reference.rstrip("0123456789$").lstrip("$")[:4].upper():
        number = number * 26 + ord(letter) - 64 if letter.isascii() and letter.isalpha() else 0
    return number if number <= _MOST_COLUMNS else 0


def _row_number(reference: str) -> int:
    digits = reference.lstrip("$ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")[:9]
    return int(digits) if digits.isdecimal() else 0


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
