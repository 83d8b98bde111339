"""Read documents, each by the reader of its format, in a process whose time and memory are bounded.

python -m corpus.formats.process   # see `chassis.decoding.program`; a job: a format, or `PICTURE` and a page
"""

import json
import resource
from collections.abc import Callable, Sequence
from dataclasses import asdict

from chassis.decoding.program import Bounds, Result, serve
from corpus.formats.book import read_book
from corpus.formats.html import read_html, read_web_archive
from corpus.formats.markdown import read_markdown
from corpus.formats.open_document import read_open_sheets, read_open_slides, read_open_text
from corpus.formats.pdf import read_pdf, render_page
from corpus.formats.sheets import read_sheets
from corpus.formats.slides import read_slides
from corpus.formats.text import read_csv, read_text, read_tsv
from corpus.formats.word import read_word
from corpus.pages import BlockKind, NoContent, Page, PageFormat

PICTURE = b"picture"
"""The first argument of a job that renders a page; the second is its number."""
NO_CONTENT, UNREADABLE = 1, 2
"""The status of a reply. 0: it holds the page as JSON; NO_CONTENT: the reason, for the user."""

CPU_S = 90.0
"""Processor seconds for one document: 3,000 pages of PDF take 60."""
MEMORY_BYTES = 1536 << 20
"""The most data of the process: 16 MiB of HTML take 500 MB, a workbook of two million cells 1.1 GB."""
_OPEN_FILES = 64
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


def _handle(arguments: Sequence[bytes], data: bytes) -> Result:
    try:
        if arguments[0] == PICTURE:
            return 0, (render_page(data, int(arguments[1])),)
        page = read_document(PageFormat(arguments[0].decode()), data)
        text = json.dumps(asdict(page), default=str, ensure_ascii=False)
        return 0, (text.encode(errors="replace"),)  # pydantic reads no half characters
    except NoContent as reason:
        return NO_CONTENT, (str(reason).encode(),)
    except MemoryError:
        return NO_CONTENT, (b"The document is too large to be read.",)
    except Exception:  # noqa: BLE001 - whatever a hostile document makes a reader do
        return UNREADABLE, ()


if __name__ == "__main__":
    limits = ((resource.RLIMIT_DATA, MEMORY_BYTES), (resource.RLIMIT_NOFILE, _OPEN_FILES))
    serve(_handle, Bounds(CPU_S, limits))
