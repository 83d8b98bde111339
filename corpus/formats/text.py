"""Plain text: paragraphs, which empty lines separate."""

import re

from corpus.encoding import decode_page
from corpus.pages import BlockKind, Page
from corpus.visible import clean_line, make_block

_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")


def read_text(content: bytes) -> Page:
    """Read a text file."""
    text = decode_page(content).replace("\r\n", "\n").replace("\r", "\n")
    paragraphs = (clean_line(part) for part in _EMPTY_LINE.split(text))
    blocks = tuple(block for part in paragraphs for block in make_block(BlockKind.PARAGRAPH, [part]))
    return Page("", "", blocks)
