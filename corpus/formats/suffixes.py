"""The page formats, the suffixes of their files, and how large a file of each may be."""

from enum import StrEnum

MIB = 2**20


class PageFormat(StrEnum):
    """The format of a page or document."""

    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
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


PAGE_FORMATS = {
    ".html": PageFormat.HTML,
    ".htm": PageFormat.HTML,
    ".xhtml": PageFormat.HTML,
    ".md": PageFormat.MARKDOWN,
    ".markdown": PageFormat.MARKDOWN,
    ".txt": PageFormat.TEXT,
    ".csv": PageFormat.CSV,
    ".tsv": PageFormat.TSV,
    ".mhtml": PageFormat.MHTML,
    ".mht": PageFormat.MHTML,
    ".epub": PageFormat.EPUB,
    ".docx": PageFormat.DOCX,
    ".xlsx": PageFormat.XLSX,
    ".pptx": PageFormat.PPTX,
    ".odt": PageFormat.ODT,
    ".ods": PageFormat.ODS,
    ".odp": PageFormat.ODP,
    ".pdf": PageFormat.PDF,
}
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
