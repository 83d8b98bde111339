"""Read documents, each by the reader of its format."""

from collections.abc import Callable

from corpus.formats.book import read_book
from corpus.formats.delimited import read_csv, read_tsv
from corpus.formats.html import read_html
from corpus.formats.markdown import read_markdown
from corpus.formats.open_document import read_open_sheets, read_open_slides, read_open_text
from corpus.formats.pdf import read_pdf
from corpus.formats.sheets import read_sheets
from corpus.formats.slides import read_slides
from corpus.formats.suffixes import PageFormat
from corpus.formats.text import read_text
from corpus.formats.web_archive import read_web_archive
from corpus.formats.word import read_word
from corpus.pages import BlockKind, NoContent, Page

_MOST_CHARS = 2**24
"""Characters of a document's text."""

_READERS: dict[PageFormat, Callable[[bytes], Page]] = {
    PageFormat.HTML: read_html,
    PageFormat.MARKDOWN: read_markdown,
    PageFormat.TEXT: read_text,
    PageFormat.CSV: read_csv,
    PageFormat.TSV: read_tsv,
    PageFormat.MHTML: read_web_archive,
    PageFormat.EPUB: read_book,
    PageFormat.DOCX: read_word,
    PageFormat.XLSX: read_sheets,
    PageFormat.PPTX: read_slides,
    PageFormat.ODT: read_open_text,
    PageFormat.ODS: read_open_sheets,
    PageFormat.ODP: read_open_slides,
    PageFormat.PDF: read_pdf,
}


def read_document(page_format: PageFormat, content: bytes) -> Page:
    """Return the document, with the title, URL and date that it names itself. Raises `NoContent`."""
    page = _READERS[page_format](content)
    texts = (line for block in page.blocks if block.kind is not BlockKind.HEADING for line in block.lines)
    if not page.pictures and not any(any(map(str.isalnum, text)) for text in texts):
        raise NoContent("There is no text in the page.")
    if sum(len(line) for block in page.blocks for line in block.lines) > _MOST_CHARS:
        raise NoContent(f"The document is too long. It may have {_MOST_CHARS:,} characters.")
    return page
