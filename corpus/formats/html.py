"""HTML: the main part of a page."""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from lxml.etree import ParserError
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from corpus.boilerplate import remove_boilerplate
from corpus.encoding import decode_page
from corpus.formats.no_page import reason_none
from corpus.formats.tables import mark_evident_names
from corpus.inline import spell_out
from corpus.main_part import main_part
from corpus.markup import remove_elements
from corpus.pages import Block, BlockKind, NoContent, Page
from corpus.values import moment, web_url
from corpus.visible import clean_line, make_block, visible_blocks

_NEVER_TEXT = ("script", "style", "noscript", "template", "svg", "iframe", "object")
_MOST_JSON = 2**18
_MOST_FACTS = 40
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
    modified, described = _modified(tree), _description(tree)
    remove_elements(tree, list(tree.iter(*_NEVER_TEXT)))
    whole = _chars(tree.iterchildren("body"))
    spell_out(tree)
    mark_evident_names(tree)
    remove_boilerplate(tree)
    main = main_part(tree)
    blocks = tuple(visible_blocks(main))
    if reason := reason_none((title, full_title), blocks):
        raise NoContent(reason)
    if not any(block.kind is not BlockKind.HEADING for block in blocks):
        return Page(canonical, title, described, modified)
    left_out = max(0.0, 1 - _chars([main]) / whole) if whole else 0.0
    return Page(canonical, title, blocks, modified, round(left_out, 2))


def parse_html(text: str) -> HtmlElement:
    """Return the page as a tree. Raises `NoContent`."""
    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return document_fromstring(text.encode("utf-8", "replace").replace(b"\0", b""), parser)
    except (ParserError, ValueError) as error:
        raise NoContent("There is no text in the page.") from error


def _chars(elements: Iterable[HtmlElement]) -> int:
    return sum(len("".join(each.text_content().split())) for each in elements)


def _first(tree: HtmlElement, path: str) -> str:
    matches = tree.xpath(path)
    return str(matches[0]) if isinstance(matches, list) and matches else ""


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
        changed_at = moment(_first(tree, path))
        if changed_at is not None:
            return changed_at
    return None


def _description(tree: HtmlElement) -> tuple[Block, ...]:
    """Return its description and the facts of JSON-LD."""
    described = tree.xpath('//meta[@name="description" or @property="og:description"]/@content')
    lines = [clean_line(str(each)) for each in described]
    for script in tree.xpath('//script[@type="application/ld+json"]'):
        text = script.text or ""
        try:
            lines += _facts(json.loads(text) if len(text) < _MOST_JSON else None)
        except (ValueError, RecursionError):
            continue
    return tuple(make_block(BlockKind.LIST, list(dict.fromkeys(lines))[:_MOST_FACTS]))


def _facts(value: Any) -> Iterator[str]:
    """Yield the plain values of JSON-LD's first object: "founding date: 1936"."""
    record = value[0] if isinstance(value, list) and value else value
    for key, fact in record.items() if isinstance(record, dict) else ():
        if isinstance(fact, str | int | float) and not key.startswith("@") and "://" not in str(fact):
            yield f"{re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', key).casefold()}: {clean_line(str(fact))[:2000]}"
