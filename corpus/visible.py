"""Blocks of all that an HTML tree shows, in order."""

import re
from collections.abc import Iterable, Iterator, Sequence

from lxml.html import HtmlElement

from corpus.attributes import plain_text
from corpus.inline import BLOCK_TAGS
from corpus.pages import Block, BlockKind

_BLOCKS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dl", "li", "table"})
"""Elements that become one block each."""
_INVISIBLE = frozenset({"head", "script", "style", "template", "noscript", "svg", "math"})
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
    if element.tag not in _BLOCKS:
        yield None, element.text or ""
        for child in element:
            yield from _walk(child)
            yield None, child.tail or ""
        if element.tag in BLOCK_TAGS - {"br"}:
            yield element, ""


def _whole_block(element: HtmlElement) -> Iterator[Block]:
    if element.tag == "table":
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
        if len(row) > 1 and all(is_heading for _, is_heading in row):
            headings = texts
        elif len(row) == 2 and not headings:
            lines.append(": ".join(filter(None, texts)))
        elif len(headings) == len(row):
            cells = (
                f"{heading}: {text}" if heading else text
                for heading, text in zip(headings, texts, strict=True)
                if text
            )
            lines.append("; ".join(cells))
        else:
            lines.append("; ".join(filter(None, texts)))
    return lines if lines else ["; ".join(headings)]


def make_block(kind: BlockKind, lines: Iterable[str], level: int = 0, page: int = 0) -> Iterator[Block]:
    """Yield the block, unless all its lines are empty."""
    if filled := tuple(filter(None, lines)):
        yield Block(kind, filled, level, page)


def clean_line(text: str) -> str:
    """Return the text without control characters, with single spaces."""
    return _SPACE.sub(" ", plain_text(text)).strip()
