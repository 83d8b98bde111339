"""A page's main content: boilerplate removed by trafilatura, headings, lists and tables kept."""

import copy
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

import trafilatura
from lxml.etree import _Element
from lxml.html import HtmlElement
from trafilatura.utils import decode_file

from corpus.attributes import plain_text
from corpus.boilerplate import remove_boilerplate
from corpus.manifests import PageRecord, moment, web_url
from corpus.pages import Block, BlockKind, Page

_HEADING_LINE = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_LIST_LINE = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(\S.*)$")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_MARKDOWN_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)([^*_]+)(?<=\S)\1")
_SPACE = re.compile(r"\s+")
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


class NoContent(Exception):
    """The page holds nothing to index; the message is for the user."""


def extract_page(record: PageRecord) -> Page:
    """The page that `record` holds. What the record says of itself wins over what its HTML says.

    Raises `NoContent`. CPU-bound: about 10 ms for an ordinary page.
    """
    page = _html_page(record) if record.is_html else _text_page(record)
    if not any(block.kind is not BlockKind.HEADING for block in page.blocks):
        raise NoContent("There is no text in the page.")
    if not page.url:
        raise NoContent("The page has no URL of its own; add one.")
    return page


def _html_page(record: PageRecord) -> Page:
    tree = trafilatura.load_html(record.content)
    if tree is None:
        raise NoContent("The HTML cannot be read.")
    title = _title(tree)
    canonical = web_url(_first(tree, '//link[@rel="canonical"]/@href'))
    modified = _modified(tree)
    remove_boilerplate(tree)
    return Page(
        url=record.url or canonical or record.fallback_url,
        title=record.title or title,
        blocks=tuple(_main_blocks(tree)),
        last_modified=record.last_modified or modified,
    )


def _main_blocks(tree: HtmlElement) -> list[Block]:
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
    # Too short or too odd for the extractor: the page's visible text, as it comes.
    return _text_blocks(trafilatura.html2txt(tree))


def _blocks_of(body: _Element) -> Iterator[Block]:
    for element in body:
        if element.tag == "head":
            level = int(element.get("rend", "h2")[-1:]) if element.get("rend", "")[-1:].isdigit() else 2
            yield from _block(BlockKind.HEADING, [_inner_text(element)], min(max(level, 1), 6))
        elif element.tag == "list":
            yield from _block(BlockKind.LIST, _list_lines(element))
        elif element.tag == "table":
            yield from _block(BlockKind.TABLE, _table_lines(element))
        elif element.tag == "div" or (len(element) and element.find("p") is not None):
            yield from _blocks_of(element)
        else:
            yield from _block(BlockKind.PARAGRAPH, [_inner_text(element)])


def _block(kind: BlockKind, lines: list[str], level: int = 0) -> Iterator[Block]:
    told = tuple(line for line in lines if line)
    if told:
        yield Block(kind, told, level)


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
    """One line a row, each cell led by its column's or its row's heading, so that a row speaks alone."""
    rows = [list(row.iter("cell")) for row in element.iter("row")]
    headings: list[str] = []
    lines: list[str] = []
    for row in rows:
        texts = [_inner_text(cell) for cell in row]
        leads = [cell.get("role") == "head" for cell in row]
        if len(row) > 1 and all(leads):
            headings = texts
        elif len(row) == 2 and not headings:
            lines.append(": ".join(filter(None, texts)))
        elif len(headings) == len(row):
            told = [
                f"{head}: {text}" if head else text
                for head, text in zip(headings, texts, strict=True)
                if text
            ]
            lines.append("; ".join(told))
        else:
            lines.append("; ".join(filter(None, texts)))
    return lines if lines else ["; ".join(headings)]


def _inner_text(element: _Element) -> str:
    return _line("".join(element.itertext()))


def _own_text(item: _Element) -> str:
    """The text of a list item without that of the items nested in it."""
    parts = [item.text or ""]
    for child in item:
        if child.tag != "list":
            parts.append("".join(child.itertext()))
        parts.append(child.tail or "")
    return _line(" ".join(parts))


def _text_page(record: PageRecord) -> Page:
    text = record.content if isinstance(record.content, str) else decode_file(record.content)
    blocks = _text_blocks(_MARKDOWN_EMPHASIS.sub(r"\2", _MARKDOWN_LINK.sub(r"\1", text)))
    first_heading = next((block.lines[0] for block in blocks if block.kind is BlockKind.HEADING), "")
    return Page(
        url=record.url or record.fallback_url,
        title=record.title or first_heading or record.where,
        blocks=tuple(blocks),
        last_modified=record.last_modified,
    )


def _text_blocks(text: str) -> list[Block]:
    """Paragraphs are parted by empty lines; Markdown's headings and list items are known."""
    blocks: list[Block] = []
    gathered: list[str] = []
    items: list[str] = []

    def finish() -> None:
        blocks.extend(_block(BlockKind.PARAGRAPH, [_line(" ".join(gathered))]))
        blocks.extend(_block(BlockKind.LIST, list(items)))
        gathered.clear()
        items.clear()

    for line in text.splitlines():
        heading, item = _HEADING_LINE.match(line), _LIST_LINE.match(line)
        if heading or not line.strip() or (item and gathered) or (items and not item):
            finish()
        if heading:
            blocks.extend(_block(BlockKind.HEADING, [_line(heading[2])], len(heading[1])))
        elif item:
            items.append(_line(item[1]))
        elif line.strip():
            gathered.append(line)
    finish()
    return blocks


def _line(text: str) -> str:
    return _SPACE.sub(" ", plain_text(text)).strip()


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
    told = next((part for part in parts if _bare(part) not in above), "")
    if told and _bare(told) in {_bare(each) for each in content}:
        return told[:300]
    if len(first_level) == 1:
        return first_level[0][:300]
    return (_line(_first(tree, '//meta[@property="og:title"]/@content')) or parts[0])[:300]


def _texts(elements: Iterable[HtmlElement]) -> list[str]:
    return [_line("".join(each.itertext())) for each in elements]


def _bare(heading: str) -> str:
    """Without case and without the sign that links to it."""
    return heading.casefold().rstrip("#¶ ")


def _modified(tree: HtmlElement) -> datetime | None:
    for path in _MODIFIED:
        found = moment(_first(tree, path))
        if found is not None:
            return found
    return None
