"""Make HTML tables even: spanning cells are repeated, and several rows of headings become one."""

from collections.abc import Iterable, Sequence

from lxml.html import HtmlElement

_MOST_COLUMNS = 100
"""The most columns of a table whose cells are repeated."""
_MOST_CELLS = 20_000
"""The most cells that are added to a page."""
_MOST_CHARS = 2**21
"""The most characters that are added to a page."""


def even_tables(tree: HtmlElement) -> None:
    """Change tables, in place, so that each row has a cell for each column, below one row of headings.

    The only cell of a row stays alone: it is a title of the rows below. A list in a cell becomes one line,
    with commas between its items.
    """
    budget = _Budget()
    for table in list(tree.iter("table")):
        if is_layout(table):
            continue
        for item in table.iter("li"):
            if item.getnext() is not None and item.text_content().rstrip()[-1:].isalnum():
                item.tail = f",{item.tail or ''}"
        rows = list(table.iter("tr"))
        if any(cell.get("colspan") or cell.get("rowspan") for cell in table.iter("td", "th")):
            _repeat(rows, budget)
        _join_headings(rows)


def is_layout(table: HtmlElement) -> bool:
    """Return whether a table only arranges a page: its cells hold tables, headings, or all there is."""
    holds_more = next(table.iter("h1", "h2", "h3", "h4", "h5", "h6"), None) is not None
    is_nested = any(each is not table for each in table.iter("table"))
    return holds_more or is_nested or sum(1 for _ in table.iter("td", "th")) < 2


class _Budget:
    """Limits the cells and characters that are added to a page."""

    def __init__(self) -> None:
        self._cells, self._chars = _MOST_CELLS, _MOST_CHARS

    def allows(self, text: str) -> bool:
        self._cells -= 1
        self._chars -= len(text)
        return self._cells > 0 and self._chars > 0


def _repeat(rows: Iterable[HtmlElement], budget: _Budget) -> None:
    hanging: dict[int, tuple[HtmlElement, int]] = {}
    """Column -> a cell that spans this row and how many more."""
    for row in rows:
        cells = _cells(row)
        is_title = len(cells) == 1 and not hanging
        column = place = 0
        while (place < len(cells) or column in hanging) and column < _MOST_COLUMNS:
            if column in hanging:
                cell, left = hanging.pop(column)
                if not _add(row, cell, column, budget):
                    return
                if left > 1:
                    hanging[column] = cell, left - 1
                column += 1
                continue
            cell = cells[place]
            place += 1
            width, height = _span(cell, "colspan"), _span(cell, "rowspan")
            for repeated in range(1 if is_title else width):
                if repeated and not _add(row, cell, column, budget):
                    return
                if height > 1:
                    hanging[column] = cell, height - 1
                column += 1


def _join_headings(rows: Sequence[HtmlElement]) -> None:
    """Join rows of headings that follow each other: "Pages" above "hardback" becomes "Pages hardback"."""
    above: list[HtmlElement] = []
    for row in rows:
        cells = _cells(row)
        if len(cells) == 1:
            cells[0].tag = "td"  # a title
        is_heading = len(cells) > 1 and all(cell.tag == "th" for cell in cells)
        if is_heading and len(above) == len(cells):
            for upper, lower in zip(above, cells, strict=True):
                texts = dict.fromkeys((upper.text_content().strip(), lower.text_content().strip()))
                del lower[:]
                lower.text = f" {' '.join(filter(None, texts))} "
            above[0].getparent().drop_tree()
        above = cells if is_heading else []


def _cells(row: HtmlElement) -> list[HtmlElement]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def _add(row: HtmlElement, cell: HtmlElement, column: int, budget: _Budget) -> bool:
    """Add a copy of the cell's text as the cell of a column; False if the page is out of budget."""
    text = cell.text_content()
    if not budget.allows(text):
        return False
    copy = row.makeelement(cell.tag)
    copy.text, copy.tail = text, " "
    row.insert(column, copy)
    return True


def _span(cell: HtmlElement, name: str) -> int:
    given = cell.attrib.pop(name, "").strip()
    if given == "0" and name == "rowspan":
        return 1_000  # to the end of the table
    return min(max(int(given), 1), 1_000) if given.isascii() and given.isdigit() and len(given) < 6 else 1
