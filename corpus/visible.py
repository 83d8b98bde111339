"""Blocks of all that an HTML tree shows, in order."""

import re
from collections.abc import Iterable, Iterator, Sequence

from lxml.html import HtmlElement

from corpus.inline import BLOCK_TAGS, is_layout
from corpus.pages import Block, BlockKind
from corpus.values import plain_text

_BLOCKS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dl", "li", "table"})
"""Elements that become one block each, unless they hold others: items of items, tables of tables."""
_INVISIBLE = frozenset({"head", "script", "style", "template", "noscript", "svg"})
_INSIDE_ITEMS = ("li", "table", "dl", "h1", "h2", "h3", "h4", "h5", "h6")
_SPACE = re.compile(r"\s+")


def visible_blocks(tree: HtmlElement) -> Iterator[Block]:
    """Yield the headings, tables, list items and paragraphs of a page, in order."""
    lines: list[list[str]] = [[]]
    for element, text in _walk(tree):
        if element is None:
            lines[-1].append(text)
        elif element.tag == "br":
            lines.append([])
        else:
            yield from _paragraph(lines)
            lines = [[]]
            yield from _whole_block(element)
    yield from _paragraph(lines)


def _paragraph(lines: Sequence[Sequence[str]]) -> Iterator[Block]:
    return make_block(BlockKind.PARAGRAPH, [clean_line("".join(parts)) for parts in lines])


def _walk(element: HtmlElement) -> Iterator[tuple[HtmlElement | None, str]]:
    """Yield the texts outside `_BLOCKS`, and the elements that end a line."""
    if not isinstance(element.tag, str) or element.tag in _INVISIBLE:
        return
    if element.tag in BLOCK_TAGS:
        yield element, ""
    if element.tag not in _BLOCKS or _holds_blocks(element):
        yield None, element.text or ""
        for child in element:
            yield from _walk(child)
            yield None, child.tail or ""
        if element.tag in BLOCK_TAGS - {"br"}:
            yield element, ""


def _holds_blocks(element: HtmlElement) -> bool:
    if element.tag == "table":
        return is_layout(element)
    return element.tag == "li" and any(each is not element for each in element.iter(*_INSIDE_ITEMS))


def _whole_block(element: HtmlElement) -> Iterator[Block]:
    if _holds_blocks(element):
        return
    if element.tag == "table":
        captions = (clean_line(caption.text_content()) for caption in element.iter("caption"))
        yield from make_block(BlockKind.PARAGRAPH, captions)
        rows = (
            [(clean_line(cell.text_content()), cell.tag == "th") for cell in row.iter("th", "td")]
            for row in element.iter("tr")
        )
        yield from make_block(BlockKind.TABLE, table_lines(rows))
    elif element.tag == "li":
        yield from make_block(BlockKind.LIST, [clean_line(element.text_content())])
    elif element.tag == "dl":
        yield from make_block(BlockKind.LIST, list(_definitions(element)))
    elif element.tag in _BLOCKS:
        yield from make_block(BlockKind.HEADING, [clean_line(element.text_content())], int(element.tag[1]))


def _definitions(element: HtmlElement) -> Iterator[str]:
    """Yield a line for each definition, led by its term."""
    term = ""
    for part in element.iter("dt", "dd"):
        text = clean_line(part.text_content())
        if part.tag == "dt":
            term = text
        else:
            yield f"{term}: {text}" if term else text


def table_lines(rows: Iterable[Sequence[tuple[str, bool]]]) -> list[str]:
    """Return a line for each row, with the heading of its column or row before each cell.

    `rows`: texts of cells, and whether each is a heading.
    """
    headings: list[str] = []
    lines: list[str] = []
    for row in rows:
        texts = [text for text, _ in row]
        if _names_columns(row):
            headings = texts
        elif len(headings) == len(row) > 1:
            lines.append("; ".join(_led(headings, texts)))
        elif len(row) == 2:
            lines.append(": ".join(filter(None, texts)))
        else:
            lines.append("; ".join(_led_by_row(row)))
    return lines if lines else ["; ".join(filter(None, headings))]


def _names_columns(row: Sequence[tuple[str, bool]]) -> bool:
    """Return whether all cells are headings; the first one may be an empty cell above headings of rows."""
    others = row[1:] if row and not row[0][0] else row
    return len(row) > 1 and all(is_heading for _, is_heading in others)


def _led(headings: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    for heading, text in zip(headings, texts, strict=True):
        if text:
            yield f"{heading}: {text}" if heading else text


def _led_by_row(row: Sequence[tuple[str, bool]]) -> Iterator[str]:
    """Yield the cells of a row, each led by the heading before it: "Height: 31 m"."""
    heading = ""
    for text, is_heading in row:
        if is_heading and text:
            if heading:
                yield heading
            heading = text
        elif text:
            yield f"{heading}: {text}" if heading else text
            heading = ""
    if heading:
        yield heading


def make_block(kind: BlockKind, lines: Iterable[str], level: int = 0, page: int = 0) -> Iterator[Block]:
    """Yield the block, unless all its lines are empty."""
    if filled := tuple(filter(None, lines)):
        yield Block(kind, filled, level, page)


def clean_line(text: str) -> str:
    """Return the text without control characters, with single spaces."""
    return _SPACE.sub(" ", plain_text(text)).strip()
