"""PDF: the text of its pages in reading order, by pdfium."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from itertools import islice

import pypdfium2
import pypdfium2.raw as pdfium

from corpus.formats.pdf_layout import Styles, page_blocks, running_heads, without_heads
from corpus.formats.pdf_lines import Line, lines_of
from corpus.pages import Block, BlockKind, NoContent, Page
from corpus.values import moment
from corpus.visible import clean_line

_MOST_PAGES = 3_000
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:([-+])(\d\d)'?(\d\d))?")
_FILE_NAME = re.compile(r"^Microsoft \w+ - |^(?:untitled|document\d*|slide 1)$|\.[a-z]{3,5}$", re.IGNORECASE)
"""Titles that programs make up."""
_SENTENCE_END = re.compile(r"""[.!?:…][)"'”’»]*$""")
_MOST_STAMP_CHARS = 40
"""A scanner adds its stamp or a page number to a picture; a page with more letters has its text."""
_MOST_OBJECTS, _LEAST_SHAPES = 2_000, 200
_PICTURE_SIDE = 1_920
"""Pixels of a rendered page's longer side: OCR looks at no more."""
_LARGEST_SCALE = 8.0
_SHORT = 100
"""Characters: a paragraph of a column has more, the rows of a list or table have fewer."""


def read_pdf(content: bytes) -> Page:
    """Read a document. Raises `NoContent`."""
    if b"%PDF-" not in content[:1024]:
        raise NoContent("The file is damaged, or its name has the wrong suffix.")
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if pdfium.FPDF_GetLastError() == pdfium.FPDF_ERR_PASSWORD:
            raise NoContent("The PDF is encrypted. Save it without a password.") from error
        raise NoContent("The PDF is damaged.") from error
    with closing(document):
        if len(document) > _MOST_PAGES:
            raise NoContent(f"The PDF has too many pages. It may have {_MOST_PAGES:,}.")
        pages, pictures = list[list[Line]](), list[int]()
        for number in range(len(document)):
            lines, is_picture = _read_page(document, number)
            pages.append([] if is_picture else lines)
            pictures += [number + 1] if is_picture else []
        metadata = {key: document.get_metadata_value(key) for key in ("Title", "ModDate")}
    if not any(pages) and not pictures:
        raise NoContent("There is no text in the PDF.")
    heads = running_heads(pages)
    pages = [without_heads(lines, heads) for lines in pages]
    styles = Styles(pages)
    blocks = _join(block for n, lines in enumerate(pages, 1) for block in page_blocks(lines, n, styles))
    title = clean_line(metadata["Title"])[:300]
    if not title or _FILE_NAME.search(title):
        title = _largest_heading(blocks)
    return Page("", title, tuple(blocks), _date(metadata["ModDate"]), pictures=tuple(pictures))


def render_page(content: bytes, number: int) -> bytes:
    """Return the page with this number, from 1, as a grey JPEG. Raises `NoContent`."""
    try:
        with closing(pypdfium2.PdfDocument(content)) as document, closing(document[number - 1]) as page:
            scale = min(_PICTURE_SIDE / max(*page.get_size(), 1.0), _LARGEST_SCALE)
            with closing(page.render(scale=scale, grayscale=True)) as bitmap:
                jpeg = BytesIO()
                bitmap.to_pil().save(jpeg, "JPEG", quality=90)
    except (pypdfium2.PdfiumError, IndexError) as error:
        raise NoContent("A page of the PDF is damaged.") from error
    return jpeg.getvalue()


def _read_page(document: pypdfium2.PdfDocument, number: int) -> tuple[list[Line], bool]:
    """Return the lines of a page, and whether they are not what it shows: it is a picture of text."""
    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text:
            lines = lines_of(text.raw)
            has_text = sum(len(line.text) for line in lines) > _MOST_STAMP_CHARS
            return lines, not has_text and _is_picture(page, is_empty=not lines)
    except pypdfium2.PdfiumError:
        return [], False  # this page is damaged; the others may not be


def _is_picture(page: pypdfium2.PdfPage, *, is_empty: bool) -> bool:
    """Return whether a picture covers half of the page, or an empty page has letters drawn as shapes."""
    width, height = page.get_size()
    shapes = 0
    for thing in islice(page.get_objects(max_depth=3), _MOST_OBJECTS):
        shapes += thing.type == pdfium.FPDF_PAGEOBJ_PATH
        if thing.type == pdfium.FPDF_PAGEOBJ_IMAGE:
            left, bottom, right, top = thing.get_bounds()
            if (right - left) * (top - bottom) >= width * height / 2:
                return True
    return is_empty and shapes >= _LEAST_SHAPES


def _join(blocks: Iterator[Block]) -> list[Block]:
    """Return the blocks, with paragraphs put together that the end of a page or column cuts."""
    joined: list[Block] = []
    for block in blocks:
        if joined and _is_cut(joined[-1], block):
            joined[-1] = replace(joined[-1], lines=(f"{joined[-1].lines[0]} {block.lines[0]}",))
        else:
            joined.append(block)
    return joined


def _is_cut(above: Block, block: Block) -> bool:
    """Return whether a paragraph goes on in the next block: on the next page, or in the next column."""
    if not above.kind is block.kind is BlockKind.PARAGRAPH or not block.lines[0][:1].islower():
        return False
    is_near = block.page - above.page == 1 or (block.page == above.page and len(above.lines[0]) > _SHORT)
    return is_near and not _SENTENCE_END.search(above.lines[0])


def _largest_heading(blocks: Sequence[Block]) -> str:
    headings = [block for block in blocks if block.level and block.page == 1]
    return min(headings, key=lambda block: block.level).lines[0] if headings else ""


def _date(text: str) -> datetime | None:
    """Return a date of PDF ("D:20240501120000+02'00'")."""
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, sign, hours, minutes = match.groups()
    zone = f"{sign}{hours}:{minutes}" if sign else "+00:00"
    return moment(f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone}")
