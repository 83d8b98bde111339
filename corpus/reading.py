"""Read the document that a record holds, in a process that is ended if it takes too much time or memory.

Pages of a PDF that are pictures are read by the OCR service; those that cannot be read are named.
"""

import atexit
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from statistics import median

import anyio
from pydantic import TypeAdapter

from chassis.decoding.pool import Decoders, Ending, NoReply, Program
from chassis.errors import LoreglassError
from chassis.http.calls import FilePart, Form, ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.errors import ErrorKind
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from corpus.formats.pdf_layout import Styles, page_blocks
from corpus.formats.pdf_lines import Line, Word
from corpus.formats.process import CPU_S, NO_CONTENT, PICTURE
from corpus.pages import NoContent, Page, PageFormat
from corpus.records import PageRecord

_PROGRAM = Program("corpus.formats.process", "document", most_s=2 * CPU_S)
_PAGE = TypeAdapter(Page)
_UNREADABLE = "The document cannot be read."
_REASONS = {
    Ending.CPU: "Reading the document takes too long.",
    Ending.CLOCK: "Reading the document takes too long.",
    Ending.DIED: "The document is damaged, or too large to be read.",
}
MOST_PICTURES = 300
"""The most pages of a document that are read by OCR: a page takes it about a second."""
_MOST_NAMED = 20
_CALL_MS = 60_000
_ADVICE = "Start the OCR service (it is part of `loreglass serve`), or add text with an OCR program."
_NO_SERVICE = frozenset({ErrorKind.DEPENDENCY_UNAVAILABLE, ErrorKind.NOT_READY, ErrorKind.DEADLINE_EXCEEDED})
_LARGER = 1.35
"""Times the usual height of a line: from there a line is a heading."""
_BASELINE = 0.2
"""The share of a line's height that is below its letters."""


def read_page(record: PageRecord, ocr_url: str = "") -> Page:
    """Return the page of `record`. Title, URL and date of the record win over those in its content. Blocking.

    `ocr_url`: the service that reads pictures of pages.
    Raises `NoContent`, and `Overloaded` if no process starts. About 10 ms for an ordinary page.
    """
    content = record.content
    # A byte order mark tells the reader that this is UTF-8, whatever a page declares.
    data = content if isinstance(content, bytes) else content.encode("utf-8-sig", "ignore")
    page = with_pictures(_READER.read(record.format, data), partial(_READER.render, data), ocr_url)
    url = record.url or page.url or record.fallback_url
    if not url:
        raise NoContent("The page has no URL of its own; add one.")
    file_name = PurePosixPath(record.where).stem if record.fallback_url else ""
    return replace(
        page,
        url=url,
        title=record.title or page.title or file_name,
        last_modified=record.last_modified or page.last_modified,
    )


def document_readers(at_once: int) -> Decoders:
    """Return the processes that `read_content` uses; they start with the first document."""
    return Decoders(_PROGRAM, at_once)


async def read_content(
    readers: Decoders, page_format: PageFormat, content: bytes, deadline: Deadline
) -> Page:
    """Return the page that `content` holds, without its pictures. Raises `NoContent`, `DeadlineExceeded`, and
    `Overloaded` if no process starts.
    """
    page = await _read(readers, page_format, content, deadline)
    if not page.blocks:
        raise NoContent("There is no text in the PDF, only pictures of pages.")
    return page


async def _read(readers: Decoders, page_format: PageFormat, content: bytes, deadline: Deadline) -> Page:
    try:
        return _PAGE.validate_json(await _result(readers, [page_format.value], content, deadline))
    except ValueError as error:
        raise NoContent(_UNREADABLE) from error


async def _result(
    readers: Decoders, arguments: Sequence[str], content: bytes, deadline: Deadline
) -> bytes | bytearray:
    try:
        reply = await readers.run(arguments, content, deadline)
    except NoReply as error:
        raise NoContent(_REASONS.get(error.ending, _UNREADABLE)) from error
    if reply.status == 0:
        return reply.content
    raise NoContent(reply.content.decode() if reply.status == NO_CONTENT else _UNREADABLE)


class _Reader:
    """The process, which is started with the first document and ends with this one."""

    def __init__(self) -> None:
        self._readers = document_readers(at_once=1)
        self._lock = threading.Lock()
        atexit.register(self._readers.close)

    def read(self, page_format: PageFormat, content: bytes) -> Page:
        """Raises as `read_page`."""
        deadline = Deadline.after_ms(4 * CPU_S * 1000)
        with self._lock:
            return anyio.run(_read, self._readers, page_format, content, deadline)

    def render(self, content: bytes, number: int) -> bytes:
        """Return a page of a PDF as a JPEG. Raises as `read_page`."""
        arguments = [PICTURE.decode(), str(number)]
        deadline = Deadline.after_ms(4 * CPU_S * 1000)
        with self._lock:
            return bytes(anyio.run(_result, self._readers, arguments, content, deadline))


_READER = _Reader()


@dataclass(frozen=True, slots=True)
class _Reading:
    lines: Mapping[int, Sequence[Line]]
    unread: Sequence[int]
    reason: str


def with_pictures(page: Page, render: Callable[[int], bytes], ocr_url: str) -> Page:
    """Return the document with the text of its picture pages by OCR, and remarks on them. Blocking.

    `render`: returns the JPEG of a page, by its number from 1, or raises `NoContent`.
    Raises `NoContent` if it has no text at all.
    """
    if not page.pictures:
        return page
    reading = anyio.run(_read_pictures, page.pictures, render, ocr_url)
    styles = Styles(list(reading.lines.values()))
    blocks = [
        block for number, lines in reading.lines.items() for block in page_blocks(lines, number, styles)
    ]
    together = sorted([*page.blocks, *blocks], key=lambda block: block.page)
    if not together:
        raise NoContent(f"The PDF has no text, only pictures of pages. {reading.reason}".strip())
    remarks = [f"Read by OCR: {_page_list(reading.lines)}."] if reading.lines else []
    if reading.unread:
        remarks.append(f"Not read, for these are pictures: {_page_list(reading.unread)}. {reading.reason}")
    title = page.title or next((block.lines[0] for block in blocks if block.level and block.page == 1), "")
    return replace(page, title=title, blocks=tuple(together), remarks=(*page.remarks, *remarks))


def _page_list(numbers: Iterable[int]) -> str:
    first = list(numbers)
    return f"page {', '.join(map(str, first[:_MOST_NAMED]))}{', …' if len(first) > _MOST_NAMED else ''}"


async def _read_pictures(numbers: Sequence[int], render: Callable[[int], bytes], ocr_url: str) -> _Reading:
    """Read pages until the service is found missing."""
    lines: dict[int, Sequence[Line]] = {}
    unread: list[int] = list(numbers[MOST_PICTURES:])
    reason = f"At most {MOST_PICTURES} of a document are." if unread else ""
    async with http_client() as http:
        service = ServiceClient(http, "ocr", ocr_url)
        for place, number in enumerate(numbers[:MOST_PICTURES]):
            try:
                picture = await anyio.to_thread.run_sync(render, number)
                file: FilePart = ("image", ("page.jpg", picture, "image/jpeg"))
                due = Deadline.after_ms(_CALL_MS)
                reply = await service.send("POST", "/v1/ocr", Form([file]), OcrReply, due)
                lines[number] = page_lines(reply)
            except LoreglassError as error:
                reason = error.detail
                if error.kind in _NO_SERVICE:
                    return _Reading(
                        lines, [*numbers[place:]], f"There is no OCR service at {ocr_url}. {_ADVICE}"
                    )
                unread.append(number)
            except NoContent as error:
                reason = str(error)
                unread.append(number)
    return _Reading(lines, sorted(unread), reason)


def page_lines(reply: OcrReply) -> list[Line]:
    """Return OCR's lines as lines of a PDF; heights near the usual one are taken for it."""
    heights = [_height(line.quadrilateral) for line in reply.lines]
    usual = median(heights) if heights else 1.0
    lines = []
    for line, height in zip(reply.lines, heights, strict=True):
        size = usual if height < _LARGER * usual else usual * round(2 * height / usual) / 2
        lines.append(_line(line, reply.height, round(size, 1) or 1.0))
    return lines


def _line(line: TextLine, page_height: int, size: float) -> Line:
    """Return the line with words whose places are estimated by their letters."""
    left, right = min(each.x for each in line.quadrilateral), max(each.x for each in line.quadrilateral)
    bottom = max(each.y for each in line.quadrilateral)
    y = page_height - bottom + _BASELINE * size
    texts = line.text.split() or [line.text]
    width = (right - left) / max(1, len(" ".join(texts)))
    words, start = [], left
    for text in texts:
        words.append(Word(((text, False),), start, start + width * len(text), y, size, False, 0, True))
        start += width * (len(text) + 1)
    return Line(tuple(words))


def _height(corners: Sequence[Point]) -> float:
    return max(each.y for each in corners) - min(each.y for each in corners)
