"""Read the document that a record holds, in a process that is ended if it takes too much time or memory."""

import atexit
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

import anyio
from pydantic import TypeAdapter

from chassis.decoding.pool import Decoders, Ending, NoReply, Program
from chassis.resilience.deadlines import Deadline
from corpus.formats.process import CPU_S, NO_CONTENT, PICTURE
from corpus.formats.suffixes import PageFormat
from corpus.page_records import PageRecord
from corpus.pages import NoContent, Page
from corpus.picture_pages import with_pictures

_PROGRAM = Program("corpus.formats.process", "document", most_s=2 * CPU_S)
_PAGE = TypeAdapter(Page)
_UNREADABLE = "The document cannot be read."
_REASONS = {
    Ending.CPU: "Reading the document takes too long.",
    Ending.CLOCK: "Reading the document takes too long.",
    Ending.DIED: "The document is damaged, or too large to be read.",
}


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
