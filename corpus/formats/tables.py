"""Tables without markup (CSV, sheets, slides): find the row of column names."""

import re
from collections.abc import Iterable, Iterator, Sequence

from lxml.html import HtmlElement
from lxml.html.builder import E

from corpus.inline import is_layout, spell_out
from corpus.pages import Block, BlockKind, NoContent
from corpus.visible import clean_line, make_block, table_lines, visible_blocks

_FIGURE = re.compile(r"[-−+~<>≈$€£¥]?\s?[\d.,]*\d")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_SAMPLE_ROWS = 20

MOST_CELLS = 2_000_000
"""The most cells of a sheet: its used rows times its used columns."""

Row = Sequence[str]
Cells = dict[int, dict[int, str]]
"""Row -> column -> text, both from 1, in the order of the sheet."""


def sheet_rows(cells: Cells) -> list[list[str]]:
    """Return the rows of a sheet with a cell for each used column. Raises `NoContent`."""
    columns = sorted({column for row in cells.values() for column, text in row.items() if text})
    if len(columns) * len(cells) > MOST_CELLS:
        raise NoContent(f"A sheet is too large. It may have {MOST_CELLS:,} cells.")
    rows: list[list[str]] = []
    last = 0
    for number, row in cells.items():
        if number > last + 1:
            rows.append([])  # empty rows are not written
        rows.append([row.get(column, "") for column in columns])
        last = number
    return rows


def table_blocks(rows: Iterable[Row], page: int = 0) -> Iterator[Block]:
    """Yield a block for each table; empty rows separate tables. Rows of one cell above it are paragraphs."""
    headings: Row = ()
    for group in _groups(rows):
        first = next((n for n, row in enumerate(group) if len(_filled(row)) > 1), len(group))
        for row in group[:first]:
            yield from make_block(BlockKind.PARAGRAPH, _filled(row), page=page)
        table = group[first:]
        if not table:
            continue
        if has_column_names(table):
            headings, table = table[0], table[1:]
        elif not _same_columns(headings, table):
            headings = ()
        cells = [[(text, True) for text in headings]] if headings else []
        cells += [[(text, False) for text in row] for row in table]
        yield from make_block(BlockKind.TABLE, table_lines(cells), page=page)


def sheet_blocks(sheets: Iterable[tuple[str, Sequence[Row]]], *, named: bool) -> Iterator[Block]:
    """Yield the tables of sheets, each below its name if they are `named`."""
    for name, rows in sheets:
        if named and rows:
            yield from make_block(BlockKind.HEADING, [clean_line(name)], 2)
        yield from table_blocks(rows)


def tree_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of a document that was made HTML."""
    spell_out(tree)
    for table in tree.iter("table"):
        mark_column_names(table)
    return list(visible_blocks(tree))


def flat(block: HtmlElement) -> HtmlElement:
    """Return a table inside a cell as a paragraph."""
    return block if block.tag != "table" else E.p(" ".join(block.itertext()))


def mark_column_names(table: HtmlElement) -> None:
    """Make the first row a row of headings, in place, if it names the columns and none is marked as such."""
    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
    rows = rows[next((n for n, row in enumerate(rows) if len(row) > 1), len(rows)) :]
    if table.find(".//th") is not None or not rows:
        return
    texts = [[cell.text_content().strip() for cell in row] for row in rows[:_SAMPLE_ROWS]]
    if has_column_names(texts):
        for cell in rows[0]:
            cell.tag = "th"


def mark_evident_names(tree: HtmlElement) -> None:
    """Do the same in web pages, whose tables may hold anything, where figures or bold print prove it."""
    for table in tree.iter("table"):
        rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
        widths = {len(row) for row in rows}
        if is_layout(table) or len(rows) < 2 or len(widths) > 1 or not widths - {0, 1}:
            continue
        below = [[cell.text_content().strip() for cell in row] for row in rows[1:_SAMPLE_ROWS]]
        has_figures = len(rows[0]) > 2 and any(
            all(map(_is_figure, column)) for column in zip(*below, strict=True)
        )
        if has_figures:
            mark_column_names(table)
        elif table.find(".//th") is None and all(map(_is_bold, rows[0])) and not any(map(_is_bold, rows[1])):
            for cell in rows[0]:
                cell.tag = "th"


def _is_bold(cell: HtmlElement) -> bool:
    bold = "".join(each.text_content() for each in cell.iter("b", "strong"))
    return str(cell.text_content()).strip() == bold.strip()


def has_column_names(rows: Sequence[Row]) -> bool:
    """Return whether the first row names the columns.

    It holds different words and no figures but years. Two columns may as well be names and values: there a
    column of figures below its name decides.
    """
    first, below = rows[0], rows[1:_SAMPLE_ROWS]
    names = _filled(first)
    if not below or len(names) < 2 or len({name.casefold() for name in names}) < len(names):
        return False
    if any(_is_figure(name) and not _YEAR.fullmatch(name) for name in names) or _is_figure(names[0]):
        return False
    if len(first) > 2:
        return True
    values = [row[1] for row in below if len(row) > 1 and row[1]]
    leaders = [row[0] for row in below if row[0]]
    return any(column and all(map(_is_figure, column)) for column in (values, leaders))


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    group: list[Row] = []
    for row in rows:
        if any(row):
            group.append(row)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _filled(row: Row) -> list[str]:
    return [text for text in row if text]


def _is_figure(text: str) -> bool:
    return bool(_FIGURE.match(text))


def _same_columns(headings: Row, table: Sequence[Row]) -> bool:
    """Return whether the rows go on with the table above: of its named columns they fill all but one."""
    named = [bool(text) for text in headings]
    return any(named) and all(
        all(is_named or not text for text, is_named in zip(row, named, strict=True))
        and len(_filled(row)) >= sum(named) - 1
        for row in table
    )
