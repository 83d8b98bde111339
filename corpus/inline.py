"""Write as text what HTML shows by layout: line ends, superscripts, spanning cells, labels beside values."""

import re
from collections.abc import Iterable, Sequence

from lxml.html import HtmlElement
from lxml.html.builder import E

from corpus.formulas import superscript
from corpus.markup import plain_markup, remove_elements

_BLOCK_TAG_NAMES = """address article aside blockquote br caption dd details div dl dt fieldset figcaption
    figure h1 h2 h3 h4 h5 h6 header hr legend li main nav ol option p pre section summary table tbody td tfoot
    th thead tr ul"""
_INLINE_TAG_NAMES = "a abbr b bdi cite data dfn em i label mark output small span strong time"
BLOCK_TAGS = frozenset(_BLOCK_TAG_NAMES.split())
"""Elements that start and end a line."""
_INLINE_TAGS = frozenset(_INLINE_TAG_NAMES.split())
_PAIR_TAGS = frozenset(("b", "strong", "em", "i", "span", "div"))
_LABEL_CHARS, _VALUE_CHARS = 40, 80
_EXPONENT = re.compile(r"[-−+]?\d{1,3}|[-−+]?\d{0,2}[a-z](?:[-−+/]\w{1,2})?|\d/\d|[-−+]", re.IGNORECASE)
_NOTE_MARKS = re.compile(r"[\d\s,;–—-]+")
"""The marks of several notes: "1,2", "3–5"."""
_BASE = re.compile(
    r"(?:(?:^|[^\w.,])(?:10|[^\W\d_])|\)|(?:^\s*|[\d⁰¹²³⁴⁵⁶⁷⁸⁹]\s?|[/·⋅=+×(]\s?|\b(?:per|square|cubic)\s)[^\W\d_]{1,3})$"
)
"""The text before an exponent: ten, a variable, a closing bracket, or a unit after a number or a slash."""
_SPACED_BASE = re.compile(r"(?:(?:^|[^\w.,])10|[\d⁰¹²³⁴⁵⁶⁷⁸⁹]\s?[^\W\d_]{1,2}|^\s[kcdm]?m) $")
_TWO = re.compile(r"(?:^|[^\w.,])2$")
_CHARGED = re.compile(r"[A-Z][a-z]?$")
_DEGREES = ("o", "º", "°", "0")
_CONTEXT_CHARS = 24


def spell_out(tree: HtmlElement) -> None:
    """Replace layout by text, in place.

    "112<sup>1</sup> m" becomes "112 m" (a footnote mark), "m<sup>3</sup>" becomes "m³",
    "8<sup>1</sup>/<sub>2</sub>" becomes "8 1/2", and "71<br>146" becomes "71 146". Deleted text is removed.
    A label and its value alone in an element get a colon.
    """
    plain_markup(tree)
    remove_elements(tree, list(tree.iter("del", "s", "strike")))
    for element in tree.iter("ol"):
        _number_items(element)
    for element in list(tree.iter("sup")):
        if element.getparent() is None:
            continue  # it was inside another superscript
        text = _superscript_text(element)
        del element[:]
        element.text = text
    for element in tree.iter("li", "div", "p"):
        _join_label(element)
    _separate_lines(tree)
    even_tables(tree)


def append_text(element: HtmlElement, text: str, raised: str | None = None) -> None:
    """Add text to the end of an element. `raised`: "sup" or "sub" if the text is above or below the line."""
    if raised:
        element.append(E(raised, text))
    elif len(element):
        element[-1].tail = (element[-1].tail or "") + text
    else:
        element.text = (element.text or "") + text


def _separate_lines(tree: HtmlElement) -> None:
    """Put a space where a line, a cell, an item or a label ends."""
    for element in tree.iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag in BLOCK_TAGS:
            if element.tag != "br":
                element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
        elif element.tag in _INLINE_TAGS:
            if _starts_anew(_text_before(element), _first_text(element)):
                element.text = f" {element.text or ''}"
            if _starts_anew(_last_text(element), element.tail or ""):
                element.tail = f" {element.tail}"


def _join_label(element: HtmlElement) -> None:
    """Make "Screen: 6.1 in" of an element that holds just a label and its value, each short."""
    if len(element) != 2 or {each.tag for each in element} - _PAIR_TAGS or any(map(len, element)):
        return
    label, value = element
    if any(text and text.strip() for text in (element.text, label.tail, value.tail)):
        return
    name, text = (label.text or "").strip(), (value.text or "").strip()
    if name[-1:].isalpha() and len(name) <= _LABEL_CHARS and 0 < len(text) <= _VALUE_CHARS:
        label.tag = value.tag = "span"
        label.text = f"{name}: "


def _number_items(ordered_list: HtmlElement) -> None:
    """Write the numbers of a list that does not count from 1: "1956. ..." may begin a sentence."""
    items = ordered_list.findall("li")
    start, step = _figure(ordered_list.get("start"), 1), 1
    if "reversed" in ordered_list.attrib:
        start, step = _figure(ordered_list.get("start"), len(items)), -1
    if start == 1 and not any("value" in item.attrib for item in items):
        return
    number = start
    for item in items:
        number = _figure(item.get("value"), number)
        item.text = f"{number}. {item.text or ''}"
        number += step


def _figure(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default


def _starts_anew(left: str, right: str) -> bool:
    """Return whether two texts without a space between them are two words, such as a label and its value."""
    return left[-1:].isalnum() and not left[-1:].isupper() and (right[:1].isupper() or right[:1].isdigit())


def _superscript_text(element: HtmlElement) -> str:
    """Return the text that replaces a superscript: an exponent, a numerator, letters ("th"), or nothing."""
    text, before, tail = element.text_content().strip(), _text_before(element), (element.tail or "").strip()
    if element.find(".//a") is not None or element.getparent().tag == "a" or "[" in text:
        return ""  # a link to a footnote
    below = element.getnext()
    if tail in ("/", "⁄") and below is not None and below.tag == "sub":
        return f" {text}" if before[-1:].isdigit() else text
    if text in _DEGREES and tail[:1] in ("C", "F") and before[-1:].isdigit():
        return "°"
    if not _EXPONENT.fullmatch(text):
        is_mark = _NOTE_MARKS.fullmatch(text) or not any(map(str.isalnum, text))
        return "" if is_mark else text
    if _SPACED_BASE.search(before):
        _strip_before(element)
        return superscript(text)
    return superscript(text) if _is_power(text, before) else ""


def _is_power(text: str, before: str) -> bool:
    """Return whether raised text is an exponent, and not the mark of a note: that may follow any word."""
    if text in ("-", "−", "+"):
        return bool(_CHARGED.search(before))
    if _TWO.search(before):
        return len(text) > 1 or text in ("n", "k", "x")
    return text != "1" and bool(_BASE.search(before))  # an exponent of 1 is not written


def _strip_before(element: HtmlElement) -> None:
    previous, parent = element.getprevious(), element.getparent()
    if previous is None:
        parent.text = parent.text.rstrip() if parent.text else None
    elif previous.tail:
        previous.tail = previous.tail.rstrip()


def _text_before(element: HtmlElement) -> str:
    """Return the end of the text directly before the element in its parent."""
    previous = element.getprevious()
    if previous is None:
        parent = element.getparent()
        text = "" if parent is None else parent.text or ""
    elif previous.tail or not isinstance(previous.tag, str) or previous.tag in BLOCK_TAGS:
        text = previous.tail or ""
    else:
        text = _last_text(previous)
    return text[-_CONTEXT_CHARS:]


def _first_text(element: HtmlElement) -> str:
    return next(filter(None, element.itertext()), "")


def _last_text(element: HtmlElement) -> str:
    while len(element):
        if element[-1].tail:
            return str(element[-1].tail)
        element = element[-1]
    return element.text or "" if isinstance(element.tag, str) else ""


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
