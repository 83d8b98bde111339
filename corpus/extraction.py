"""A page's main content: boilerplate removed by trafilatura, headings, lists and tables kept."""

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import trafilatura
from lxml.etree import _Element
from lxml.html import HtmlElement

from corpus.attributes import plain_text
from corpus.boilerplate import remove_boilerplate
from corpus.encoding import decoded
from corpus.inline import ENDS, spell_out
from corpus.manifests import PageFormat, PageRecord, moment, web_url
from corpus.markdown import markdown_tree
from corpus.pages import Block, BlockKind, Page

_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_GAPS = frozenset({"lb", "item", "list", "p", "head", "quote", "row", "cell", "table"})
"""trafilatura's elements that the next text does not continue."""
_WHOLE = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dl", "li", "table"})
"""HTML's elements that are a block each."""
_SHORT = 1_000
"""Characters: a shorter page has too little text to tell the main part by its density."""
_UNSEEN = frozenset({"head", "script", "style", "template", "noscript", "svg", "math"})
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
    text = record.content if isinstance(record.content, str) else decoded(record.content)
    page = _READERS[record.format](record, text)
    if not any(block.kind is not BlockKind.HEADING for block in page.blocks):
        raise NoContent("There is no text in the page.")
    if not page.url:
        raise NoContent("The page has no URL of its own; add one.")
    return page


def _html_page(record: PageRecord, text: str) -> Page:
    tree = trafilatura.load_html(text)
    if tree is None:
        raise NoContent("The HTML cannot be read.")
    title = _title(tree)
    canonical = web_url(_first(tree, '//link[@rel="canonical"]/@href'))
    modified = _modified(tree)
    remove_boilerplate(tree)
    spell_out(tree)
    return Page(
        url=record.url or canonical or record.fallback_url,
        title=record.title or title,
        blocks=tuple(_main_blocks(tree)),
        last_modified=record.last_modified or modified,
    )


def _main_blocks(tree: HtmlElement) -> list[Block]:
    if len(tree.text_content()) < _SHORT:
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


def visible_blocks(tree: HtmlElement) -> Iterator[Block]:
    """Yield all that a page shows, in its order: headings, tables, items of lists, and lines of text."""
    lines = [""]
    for element, text in _shown(tree):
        if element is None:
            lines[-1] += text
        elif element.tag == "br":
            lines.append("")
        else:
            yield from _block(BlockKind.PARAGRAPH, [_line(line) for line in lines])
            lines = [""]
            yield from _whole_block(element)
    yield from _block(BlockKind.PARAGRAPH, [_line(line) for line in lines])


def _shown(element: HtmlElement) -> Iterator[tuple[HtmlElement | None, str]]:
    """Yield texts, and the elements at which a line or a block ends; nothing of what `_WHOLE` holds."""
    if not isinstance(element.tag, str) or element.tag in _UNSEEN:
        return
    if element.tag in ENDS:
        yield element, ""
    if element.tag not in _WHOLE:
        yield None, element.text or ""
        for child in element:
            yield from _shown(child)
            yield None, child.tail or ""
        if element.tag in ENDS - {"br"}:
            yield element, ""


def _whole_block(element: HtmlElement) -> Iterator[Block]:
    if element.tag == "table":
        rows = (
            [(_line(cell.text_content()), cell.tag == "th") for cell in row.iter("th", "td")]
            for row in element.iter("tr")
        )
        yield from _block(BlockKind.TABLE, table_lines(rows))
    elif element.tag == "li":
        yield from _block(BlockKind.LIST, [_line(element.text_content())])
    elif element.tag == "dl":
        yield from _block(BlockKind.LIST, list(_definitions(element)))
    elif element.tag in _WHOLE:
        yield from _block(BlockKind.HEADING, [_line(element.text_content())], int(element.tag[1]))


def _definitions(element: HtmlElement) -> Iterator[str]:
    """Yield a line for each definition, led by its term."""
    term = ""
    for part in element.iter("dt", "dd"):
        text = _line(part.text_content())
        if part.tag == "dt":
            term = text
        else:
            yield f"{term}: {text}" if term else text


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
    rows = (
        [(_inner_text(cell), cell.get("role") == "head") for cell in row.iter("cell")]
        for row in element.iter("row")
    )
    return table_lines(rows)


def table_lines(rows: Iterable[Sequence[tuple[str, bool]]]) -> list[str]:
    """Return one line a row, each cell led by its column's or its row's heading, so that a row speaks alone.

    `rows`: texts of cells, and whether each is a heading.
    """
    headings: list[str] = []
    lines: list[str] = []
    for row in rows:
        texts, leads = [text for text, _ in row], [leads for _, leads in row]
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
    return _line("".join(_with_gaps(element)))


def _with_gaps(element: _Element) -> Iterator[str]:
    """Yield the texts inside the element, with a space where a line, an item or a paragraph ends."""
    yield element.text or ""
    for child in element:
        gap = " " if child.tag in _GAPS else ""
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
    return _line(" ".join(parts))


def _markdown_page(record: PageRecord, text: str) -> Page:
    tree, about = markdown_tree(text)
    spell_out(tree)
    blocks = tuple(visible_blocks(tree))
    heading = next((block.lines[0] for block in blocks if block.kind is BlockKind.HEADING), "")
    address = web_url(str(about.get("url", ""))) or record.fallback_url
    told = (str(about[key]) for key in ("last_modified", "updated", "date") if about.get(key))
    return Page(
        url=record.url or address,
        title=record.title or _line(str(about.get("title") or ""))[:300] or heading or record.where,
        blocks=blocks,
        last_modified=record.last_modified or next(filter(None, map(moment, told)), None),
    )


def _plain_page(record: PageRecord, text: str) -> Page:
    """Paragraphs are parted by empty lines; nothing else is taken for a mark."""
    paragraphs = (_line(part) for part in _EMPTY_LINE.split(text))
    return Page(
        url=record.url or record.fallback_url,
        title=record.title or record.where,
        blocks=tuple(block for part in paragraphs for block in _block(BlockKind.PARAGRAPH, [part])),
        last_modified=record.last_modified,
    )


_READERS = {
    PageFormat.HTML: _html_page,
    PageFormat.MARKDOWN: _markdown_page,
    PageFormat.TEXT: _plain_page,
}


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
