"""XLSX: the visible sheets in their order, as tables of what their cells show.

The XML is read directly: openpyxl gives no merged cells where it reads row by row, and no raised figures.
"""

from collections.abc import Iterator
from datetime import datetime

from lxml.etree import _Element
from lxml.html.builder import E

from corpus.formats.number_formats import BUILT_IN, shown_number
from corpus.formats.package import RAISED, Package, attribute, child, children, local_name, relation_id
from corpus.formats.tables import MOST_CELLS, Cells, sheet_blocks, sheet_rows
from corpus.inline import append_text, spell_out
from corpus.pages import Page
from corpus.visible import clean_line

_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_MOST_COLUMNS = 16_384


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
            codes.get(number) or BUILT_IN.get(int(number) if number.isdecimal() else 0, "")
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
