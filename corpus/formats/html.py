"""HTML: the main content of a page, found by trafilatura."""

import copy
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

import trafilatura
from lxml.etree import _Element
from lxml.html import HtmlElement

from corpus.boilerplate import remove_boilerplate
from corpus.encoding import decode_page
from corpus.formats.no_page import reason_none
from corpus.inline import spell_out
from corpus.pages import Block, BlockKind, NoContent, Page
from corpus.values import moment, web_url
from corpus.visible import clean_line, make_block, table_lines, visible_blocks

_BLOCK_TAGS = frozenset({"lb", "item", "list", "p", "head", "quote", "row", "cell", "table"})
"""trafilatura's elements that start and end a line."""
_LEAST_FOR_DENSITY = 1_000
"""Characters from which trafilatura finds the main part by the density of text."""
_TITLE_MARK = re.compile(r"\s+[|–—»·-]\s+")
_CONTENT_HEADINGS = (
    "//*[self::h1 or self::h2 or self::h3]"
    "[not(ancestor::nav or ancestor::footer or ancestor::aside)]"
    "[not(ancestor::header) or ancestor::main or ancestor::article]"
)
_MODIFIED = (
    '//meta[@property="article:modified_time" or @property="og:updated_time"]/@content',
    '//meta[@http-equiv="last-modified" or @name="last-modified"]/@content',
    '//meta[@property="article:published_time"]/@content',
)


def read_html(content: bytes) -> Page:
    """Read a web page. Raises `NoContent`."""
    tree = parse_html(decode_page(content))
    title, full_title = _title(tree), "".join(_texts(tree.iter("title"))[:1])
    canonical = web_url(_first(tree, '//link[@rel="canonical"]/@href'))
    modified = _modified(tree)
    remove_boilerplate(tree)
    spell_out(tree)
    blocks = tuple(_main_blocks(tree))
    if reason := reason_none((title, full_title), blocks):
        raise NoContent(reason)
    return Page(canonical, title, blocks, modified)


def parse_html(text: str) -> HtmlElement:
    """Return the page as a tree. Raises `NoContent`."""
    tree = trafilatura.load_html(text)
    if tree is None:
        raise NoContent("The HTML cannot be read.")
    return tree


def _main_blocks(tree: HtmlElement) -> list[Block]:
    if len(tree.text_content()) < _LEAST_FOR_DENSITY:
        return list(visible_blocks(tree))
    document = trafilatura.bare_extraction(
        copy.deepcopy(tree),
        favor_recall=True,
        include_comments=False,
        include_formatting=True,
        include_tables=True,
        with_metadata=False,
    )
    blocks = (
        list(_blocks_of(document.body)) if document is not None and not isinstance(document, dict) else []
    )
    if any(block.kind is not BlockKind.HEADING for block in blocks):
        return blocks
    return list(visible_blocks(tree))  # too odd for the extractor


def _blocks_of(body: _Element) -> Iterator[Block]:
    for element in body:
        if element.tag == "head":
            level = int(element.get("rend", "h2")[-1:]) if element.get("rend", "")[-1:].isdigit() else 2
            yield from make_block(BlockKind.HEADING, [_inner_text(element)], min(max(level, 1), 6))
        elif element.tag == "list":
            yield from make_block(BlockKind.LIST, _list_lines(element))
        elif element.tag == "table":
            yield from make_block(BlockKind.TABLE, _table_lines(element))
        elif element.tag == "div" or (len(element) and element.find("p") is not None):
            yield from _blocks_of(element)
        else:
            yield from make_block(BlockKind.PARAGRAPH, [_inner_text(element)])


def _list_lines(element: _Element) -> list[str]:
    """One line an item; a term of a definition list leads the line of its definition."""
    lines: list[str] = []
    term = ""
    for item in element.iter("item"):
        text = _own_text(item)
        if item.get("rend", "").startswith("dt"):
            term = text
            continue
        lines.append(f"{term}: {text}" if term else text)
        term = ""
    return [*lines, term]


def _table_lines(element: _Element) -> list[str]:
    rows = (
        [(_inner_text(cell), cell.get("role") == "head") for cell in row.iter("cell")]
        for row in element.iter("row")
    )
    return table_lines(rows)


def _inner_text(element: _Element) -> str:
    return clean_line("".join(_with_gaps(element)))


def _with_gaps(element: _Element) -> Iterator[str]:
    """Yield the texts inside the element, with a space where a line, an item or a paragraph ends."""
    yield element.text or ""
    for child in element:
        gap = " " if child.tag in _BLOCK_TAGS else ""
        yield gap
        yield from _with_gaps(child)
        yield gap
        yield child.tail or ""


def _own_text(item: _Element) -> str:
    """The text of a list item without that of the items nested in it."""
    parts = [item.text or ""]
    for child in item:
        if child.tag != "list":
            parts.append("".join(child.itertext()))
        parts.append(child.tail or "")
    return clean_line(" ".join(parts))


def _first(tree: HtmlElement, path: str) -> str:
    found = tree.xpath(path)
    return str(found[0]) if isinstance(found, list) and found else ""


def _title(tree: HtmlElement) -> str:
    """The page's own name, not its site's.

    `<title>` without the site's name, where a heading of the content says the same: many sites have their own
    name as the only first-level heading of every page, and the chapter's below it. Else the only first-level
    heading; else what is shared as the title, or `<title>`.
    """
    content = _texts(tree.xpath(_CONTENT_HEADINGS))
    first_level = [each for each in _texts(tree.iter("h1")) if each]
    above = {_bare(each) for each in first_level} - {_bare(each) for each in content}
    parts = _TITLE_MARK.split("".join(_texts(tree.iter("title"))[:1]))
    name = next((part for part in parts if _bare(part) not in above), "")
    if name and _bare(name) in {_bare(each) for each in content}:
        return name[:300]
    if len(first_level) == 1:
        return first_level[0][:300]
    return (clean_line(_first(tree, '//meta[@property="og:title"]/@content')) or parts[0])[:300]


def _texts(elements: Iterable[HtmlElement]) -> list[str]:
    return [clean_line("".join(each.itertext())) for each in elements]


def _bare(heading: str) -> str:
    """Without case and without the sign that links to it."""
    return heading.casefold().rstrip("#¶ ")


def _modified(tree: HtmlElement) -> datetime | None:
    for path in _MODIFIED:
        found = moment(_first(tree, path))
        if found is not None:
            return found
    return None
