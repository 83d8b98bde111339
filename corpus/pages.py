"""A page as a tree cut flat: headings, paragraphs, lists and tables in reading order."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class BlockKind(StrEnum):
    """What a block was in its page."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """`lines`: a paragraph or heading has one, a list one per item, a table one per row.

    `level`: 1 (largest) to 6, of a heading.
    """

    kind: BlockKind
    lines: tuple[str, ...]
    level: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """A page without its boilerplate."""

    url: str
    title: str
    blocks: tuple[Block, ...]
    last_modified: datetime | None = None
