"""A page as a tree cut flat: headings, paragraphs, lists and tables in reading order."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class BlockKind(StrEnum):
    """The kind of a block in its page."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"


class NoContent(Exception):
    """The document holds nothing to index; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Block:
    """`lines`: a paragraph or heading has one, a list one per item, a table one per row.

    `level`: 1 (largest) to 6, of a heading. `page`: the number of the page or slide, from 1; 0: none.
    """

    kind: BlockKind
    lines: tuple[str, ...]
    level: int = 0
    page: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A document without its boilerplate. `url` and `title` are empty if it does not name them.

    `left_out`: the share of its text that was taken for boilerplate, from 0 to 1. `pictures`: the numbers of
    its pages that are pictures of text. `remarks`: what a report says of it.
    """

    url: str
    title: str
    blocks: tuple[Block, ...]
    last_modified: datetime | None = None
    left_out: float = 0.0
    pictures: tuple[int, ...] = ()
    remarks: tuple[str, ...] = ()
