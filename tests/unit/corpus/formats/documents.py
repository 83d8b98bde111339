"""Read documents in tests."""

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

from corpus.chunking import ChunkLimits, cut_page
from corpus.formats.process import read_document
from corpus.pages import BlockKind, Page, PageFormat


def zipped(files: dict[str, str | bytes]) -> bytes:
    """Return an archive of the files."""
    written = BytesIO()
    with ZipFile(written, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return written.getvalue()


def lines_of(page_format: PageFormat, content: bytes) -> list[str]:
    """Return the lines of a document; those of headings begin with "#"."""
    return shown(read_document(page_format, content))


def shown(page: Page) -> list[str]:
    """Return the lines of a page; those of headings begin with "#"."""
    return [
        f"{'#' * block.level} {line}" if block.kind is BlockKind.HEADING else line
        for block in page.blocks
        for line in block.lines
    ]


def passages(page: Page, limits: ChunkLimits | None = None) -> list[str]:
    """Return the texts of a page's passages."""
    return [passage.text for passage in cut_page(page, limits)]
