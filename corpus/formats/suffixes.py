"""The page formats, the suffixes of their files, and how large a file of each may be."""

from enum import StrEnum

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
    """Return the largest size of a file in bytes."""
    return LARGEST_TEXT if page_format in TEXT_FORMATS else LARGEST_DOCUMENT
