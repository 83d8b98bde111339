"""Read pages of a PDF that are pictures by the OCR service, and name those that could not be read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import anyio

from chassis.errors import LoreglassError
from chassis.http.calls import FilePart, ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.errors import ErrorKind
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from corpus.formats.pdf_layout import Styles, page_blocks
from corpus.formats.pdf_lines import Line, Word
from corpus.pages import NoContent, Page

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

Render = Callable[[int], bytes]
"""Returns the JPEG of a page, by its number from 1. Raises `NoContent`."""


@dataclass(frozen=True, slots=True)
class _Reading:
    lines: Mapping[int, Sequence[Line]]
    unread: Sequence[int]
    reason: str


def with_pictures(page: Page, render: Render, ocr_url: str) -> Page:
    """Return the document with the text of its picture pages, and remarks on them. Blocking.

    Raises `NoContent` if it has no text at all.
    """
    if not page.pictures:
        return page
    reading = anyio.run(_read, page.pictures, render, ocr_url)
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


async def _read(numbers: Sequence[int], render: Render, ocr_url: str) -> _Reading:
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
                reply = await service.send_multipart(
                    "/v1/ocr", [file], {}, OcrReply, Deadline.after_ms(_CALL_MS)
                )
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
