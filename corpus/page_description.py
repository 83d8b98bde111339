"""What a page's head says of it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from lxml.html import HtmlElement

from corpus.pages import Block, BlockKind
from corpus.visible import clean_line, make_block

_MOST_JSON = 2**18
_MOST_FACTS = 40


def description_blocks(tree: HtmlElement) -> tuple[Block, ...]:
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
