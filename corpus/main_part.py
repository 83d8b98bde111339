"""The part of a page that holds its main text, and what a page without text says of itself."""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import trafilatura
from lxml.html import HtmlElement

from corpus.boilerplate import is_section
from corpus.pages import Block, BlockKind
from corpus.visible import clean_line, make_block

_LEAST_CHARS = 1_000
"""On a shorter page text is too thin to find the main part by its density."""
_SHARE = 0.9
"""The part has at least this share of what trafilatura takes for the main text."""
_MOST_CELLS, _MOST_ELEMENTS = 2_000, 50_000
"""trafilatura takes seconds for more cells, and minutes for more elements."""
_LEAST_TEXT = 30
_TEXTS = ("p", "li", "td", "dd", "h1", "h2", "h3", "div", "blockquote", "pre")
_NO_WORD = re.compile(r"\W+")
_WHOLES = ("main", "article")
_MOST_JSON = 2**18
_MOST_FACTS = 40


def main_part(tree: HtmlElement) -> HtmlElement:
    """Return the smallest element that holds nearly all of the main text.

    trafilatura finds the main text by its density, and loses figures, forms and labels; so it only says
    where the text stands, and all that stands there is read.
    """
    if len(tree.text_content()) < _LEAST_CHARS or sum(1 for _ in tree.iter()) > _MOST_ELEMENTS:
        return tree
    document = trafilatura.bare_extraction(
        copy.deepcopy(tree),
        favor_recall=True,
        include_comments=False,
        include_tables=sum(1 for _ in tree.iter("td", "th")) < _MOST_CELLS,
        with_metadata=False,
    )
    if document is None or isinstance(document, dict):
        return tree
    texts = {
        _key("".join(each.itertext())) for each in document.body.iter("p", "item", "cell", "head", "quote")
    }
    held: Counter[HtmlElement] = Counter()
    whole = 0
    for element in tree.iter(*_TEXTS):
        key = _key(element.text_content())
        if len(key) >= _LEAST_TEXT and key in texts:
            whole += len(key)
            held.update(dict.fromkeys(element.iterancestors(), len(key)))
    nearly_all = [each for each, chars in held.items() if chars >= _SHARE * whole]
    part = max(nearly_all, key=lambda each: sum(1 for _ in each.iterancestors()), default=tree)
    part = next((each for each in part.iterancestors() if each.tag in _WHOLES), part)
    while (parent := part.getparent()) is not None and any(map(is_section, _siblings(part))):
        part = parent
    return part


def _siblings(element: HtmlElement) -> Iterator[HtmlElement]:
    yield from element.itersiblings()
    yield from element.itersiblings(preceding=True)


def description_blocks(tree: HtmlElement) -> tuple[Block, ...]:
    """Return what the page's head says of it: its description, and the facts of JSON-LD."""
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


def _key(text: str) -> str:
    return _NO_WORD.sub("", text.casefold())
