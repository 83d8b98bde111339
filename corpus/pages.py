"""A page as blocks in reading order (headings, paragraphs, lists, tables), and the formats of pages."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class BlockKind(StrEnum):
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


MIB = 2**20


class PageFormat(StrEnum):
    """The format of a page or document, by the usual suffix of its files."""

    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "txt"
    CSV = "csv"
    TSV = "tsv"
    MHTML = "mhtml"
    EPUB = "epub"
    DOCX = "docx"
    XLSX = "xlsx"
    PPTX = "pptx"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    PDF = "pdf"


PAGE_FORMATS = {f".{each}": each for each in PageFormat} | {
    ".htm": PageFormat.HTML,
    ".xhtml": PageFormat.HTML,
    ".md": PageFormat.MARKDOWN,
    ".mht": PageFormat.MHTML,
}
"""The format of a file by its suffix."""
TEXT_FORMATS = frozenset(
    {PageFormat.HTML, PageFormat.MARKDOWN, PageFormat.TEXT, PageFormat.CSV, PageFormat.TSV}
)
LARGEST_TEXT = 16 * MIB
"""The most bytes of a text file."""
LARGEST_DOCUMENT = 64 * MIB
"""The most bytes of another file, which is mostly pictures."""


def largest_file(page_format: PageFormat) -> int:
    return LARGEST_TEXT if page_format in TEXT_FORMATS else LARGEST_DOCUMENT
