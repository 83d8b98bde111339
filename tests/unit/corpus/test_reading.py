"""Read documents in a process that can be ended, and pages that are pictures by OCR."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from chassis.decoding import pool
from chassis.decoding.pool import Program
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from corpus import reading
from corpus.formats.pdf import render_page
from corpus.items import PageItem, prepare_page
from corpus.pages import NoContent, PageFormat
from corpus.reading import MOST_PICTURES, read_page, with_pictures
from corpus.records import PageRecord
from tests.loopback import taking_posts
from tests.unit.corpus.formats.documents import passages
from tests.unit.corpus.formats.pdf_files import Text, pdf

HOSTILE = """
import resource, sys, time
from chassis.decoding.program import Bounds, serve
from corpus.formats import process

def handle(arguments, data):
    match data:
        case b"dies": import os; os.abort()
        case b"loops":
            while True: pass
        case b"sleeps": time.sleep(60)
        case b"grows":
            try: held = [bytes(1 << 24) for _ in range(1 << 20)]
            except MemoryError: return process.NO_CONTENT, (b"too large",)
        case b"lies": return 0, (b'{"url": 1}',)
    return process._handle(arguments, data)

serve(handle, Bounds(0.5, ((resource.RLIMIT_DATA, 512 << 20),)))
"""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"dies", "damaged, or too large"),
        (b"loops", "takes too long"),
        (b"sleeps", "takes too long"),
        (b"grows", "too large"),
        (b"lies", "cannot be read"),
    ],
)
def test_document_that_crashes_the_reader_is_refused(
    content: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_reader.py").write_text(HOSTILE)
    monkeypatch.setattr(pool, "_PATHS", (str(tmp_path), *pool._PATHS))
    monkeypatch.setattr(reading, "_PROGRAM", Program("hostile_reader", "document", most_s=3))
    monkeypatch.setattr(reading, "_READER", reading._Reader())
    with pytest.raises(NoContent, match=reason):
        read_page(PageRecord("a.txt", content, PageFormat.TEXT, "https://a.example"))
    assert read_page(PageRecord("a.txt", b"words", PageFormat.TEXT, "https://a.example")).blocks
    reading._READER._readers.close()


NOBODY = "http://127.0.0.1:9"
TEXT = [Text(50, 700, "The mill was built in 1820 by Ada, and it has four floors.")]


def line(text: str, left: float, top: float, height: float = 20) -> TextLine:
    right = left + 10 * len(text)
    corners = [(left, top), (right, top), (right, top + height), (left, top + height)]
    return TextLine(text=text, score=0.9, quadrilateral=[Point(x=x, y=y) for x, y in corners])


REPLY = OcrReply(
    lines=[
        line("Opening hours", 100, 100, 44),
        line("The museum opens at nine o'clock on week-", 100, 200),
        line("days, says the keeper.", 100, 226),
        *(line(text, 100 + 300 * n, 300) for n, text in enumerate(["Day", "Open", "Close"])),
        *(line(text, 100 + 300 * n, 340) for n, text in enumerate(["Monday", "9:00", "17:00"])),
        *(line(text, 100 + 300 * n, 380) for n, text in enumerate(["Sunday", "10:00", "12:00"])),
    ],
    width=1440,
    height=1920,
)


def read_photo(request: BaseHTTPRequestHandler, sent: bytes) -> None:
    request.send_response(200)
    request.send_header("content-type", "application/json")
    request.end_headers()
    request.wfile.write(REPLY.model_dump_json().encode() if b"\xff\xd8\xff" in sent else b"{}")


@pytest.fixture
def ocr_url() -> Iterator[str]:
    with taking_posts(read_photo) as url:
        yield url


def scanned(*pages: bool) -> bytes:
    """Return a PDF whose pages are pictures (True) or text."""
    pypdfium2 = pytest.importorskip("pypdfium2")
    picture = BytesIO()
    Image.new("L", (600, 800), 255).save(picture, "PDF", resolution=72)
    scan, text = pypdfium2.PdfDocument(picture.getvalue()), pypdfium2.PdfDocument(pdf(TEXT))
    whole = pypdfium2.PdfDocument.new()
    for is_picture in pages:
        whole.import_pages(scan if is_picture else text)
    written = BytesIO()
    whole.save(written)
    return written.getvalue()


def record(*pages: bool) -> PageRecord:
    return PageRecord("guide.pdf", scanned(*pages), PageFormat.PDF, fallback_url="file:guide.pdf")


def test_scanned_page_keeps_headings_tables_and_number(ocr_url: str) -> None:
    page = read_page(record(False, True), ocr_url)
    assert page.remarks == ("Read by OCR: page 2.",)
    text = "\n".join(passages(page))
    assert "page 1\nThe mill was built in 1820" in text
    assert "page 2 › Opening hours\nThe museum opens at nine o'clock on weekdays, says the keeper." in text
    assert "Day: Sunday; Open: 10:00; Close: 12:00" in text


def test_scanned_pages_without_ocr_are_reported() -> None:
    item = prepare_page(record(False, True, True), NOBODY)
    assert isinstance(item, PageItem)
    assert "built in 1820" in item.chunks[0].text
    [remark] = item.remarks
    assert "page 2, 3" in remark
    assert "loreglass serve" in remark
    with pytest.raises(NoContent, match=r"only pictures of pages.*Start the OCR service"):
        read_page(record(True), NOBODY)


def test_pages_over_the_limit_are_reported(ocr_url: str) -> None:
    jpeg = render_page(scanned(True), 1)
    page = read_page(record(False), ocr_url)
    many = tuple(range(2, MOST_PICTURES + 4))
    read = with_pictures(type(page)("", "", page.blocks, pictures=many), lambda number: jpeg, ocr_url)
    assert f"page {MOST_PICTURES + 2}, {MOST_PICTURES + 3}" in read.remarks[1]


def test_a_picture_is_rendered_within_bounds() -> None:
    picture = Image.open(BytesIO(render_page(scanned(True), 1)))
    assert max(picture.size) == 1920
    with pytest.raises(NoContent):
        render_page(json.dumps("no PDF").encode(), 1)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\nThe Great Flood\n\nOn the 14th the dam burst.", "The Great Flood"),
        ("The dam burst.\n\nSeven people died.", ""),
        ("Buy plums\nBuy flour\n\nBake.", ""),
        ("The Great Flood", ""),
    ],
)
def test_a_short_first_line_is_the_title_of_a_text_file(text: str, title: str) -> None:
    page = read_page(PageRecord("a.txt", text.encode(), PageFormat.TEXT, "https://a.example/a.txt"))
    assert page.title == title
