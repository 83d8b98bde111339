"""Convert between services' contracts and the gateway's own types."""

import math
from collections.abc import Sequence

from chassis.errors import DependencyUnavailable
from contracts.addresses import is_source_address
from contracts.answer import CitationKind
from contracts.cropper import CropReply
from contracts.geometry import Box as ReadBox
from contracts.geometry import Point
from contracts.image_search import ImageSearchReply
from contracts.ocr import OcrReply
from contracts.ocr import TextLine as ReadLine
from contracts.reader import PassageKind, ReadPassage, ReadReply, ReadRequest
from gateway.state import Box, Crop, Entity, PhotoText, Reading, TextLine, ToRead
from language.words import visible

_ORDERED_WITHIN = math.radians(8)
"""OCR returns lines that tilt less in reading order."""


def photo_text(reply: OcrReply) -> PhotoText:
    """Return the lines with boxes as shares of the photo, turned so that a row's lines are side by side."""
    angle = _text_angle(reply.lines)
    frame = _Frame(reply.width, reply.height, angle)
    upright = _Frame(reply.width, reply.height, 0.0)
    lines = tuple(
        TextLine(
            visible(line.text), line.score, frame.box(line.quadrilateral), upright.box(line.quadrilateral)
        )
        for line in reply.lines
    )
    if abs(angle) >= _ORDERED_WITHIN:
        lines = tuple(sorted(lines, key=lambda line: (line.box[1] + line.box[3], line.box[0])))
    return PhotoText(lines, reply.lines_left_out)


def _text_angle(lines: Sequence[ReadLine]) -> float:
    """Return the direction of most of the text, in radians; 0 is level, pi upside down."""
    x = y = 0.0
    for line in lines:
        start, end = line.quadrilateral[0], line.quadrilateral[1]
        if len(line.text) >= 3:
            x += end.x - start.x
            y += end.y - start.y
    return math.atan2(y, x) if x or y else 0.0


class _Frame:
    """Turns points back by `angle` and scales the turned photo to 0..1."""

    def __init__(self, width: int, height: int, angle: float) -> None:
        self._cos, self._sin = math.cos(-angle), math.sin(-angle)
        corners = [self._turn(x, y) for x in (0, width) for y in (0, height)]
        xs, ys = zip(*corners, strict=True)
        self._left, self._top = min(xs), min(ys)
        self._width, self._height = max(xs) - self._left, max(ys) - self._top

    def _turn(self, x: float, y: float) -> tuple[float, float]:
        return x * self._cos - y * self._sin, x * self._sin + y * self._cos

    def box(self, quadrilateral: Sequence[Point]) -> Box:
        """Return left, top, right and bottom of a line in this frame."""
        turned = [self._turn(point.x, point.y) for point in quadrilateral]
        xs = [(x - self._left) / self._width for x, _ in turned]
        ys = [(y - self._top) / self._height for _, y in turned]
        return min(xs), min(ys), max(xs), max(ys)


def crops(reply: CropReply) -> tuple[Crop, ...]:
    """Return the regions of a photo, with their places as shares of it."""
    width, height = reply.width, reply.height
    return tuple(
        Crop(
            each.image,
            (
                each.box.left / width,
                each.box.top / height,
                each.box.right / width,
                each.box.bottom / height,
            ),
        )
        for each in reply.regions
    )


def entities(reply: ImageSearchReply, places: Sequence[Box] = ()) -> tuple[Entity, ...]:
    """Return the hits. `places`: of the first pictures, if these are crops."""
    place_of = dict(enumerate(places))
    return tuple(
        Entity(
            name=visible(hit.entity),
            probability=hit.score,
            attributes=tuple((visible(key), visible(value)) for key, value in hit.attributes.items()),
            title=visible(hit.title or hit.entity),
            url=hit.url,
            cosine=hit.cosine,
            place=place_of.get(hit.image_index),
        )
        for hit in reply.hits
        if not hit.url or is_source_address(hit.url)
    )


# The contract's limits. Longer text is cut, not refused: a long page is not the caller's mistake.
_QUESTION_CHARS, _SUBJECT_CHARS = 4_096, 1_000
_TEXT_CHARS, _TITLE_CHARS, _BOXES = 20_000, 1_000, 512
_PASSAGES = 64
_CHARS = 200_000
"""The most characters of all passages with their titles; later passages are left out."""

_KIND = {
    CitationKind.PAGE: PassageKind.PAGE,
    CitationKind.WEB: PassageKind.PAGE,
    CitationKind.MEMORY: PassageKind.PAGE,
    CitationKind.IMAGE: PassageKind.ATTRIBUTE,
    CitationKind.PHOTO: PassageKind.PHOTO,
}


def read_request(question: str, passages: Sequence[ToRead], subject: str | None) -> ReadRequest:
    """Return the request, cut to the contract's limits; offsets and indices do not change."""
    passages_cut: list[ReadPassage] = []
    chars_left = _CHARS
    for passage in passages[:_PASSAGES]:
        text, title = passage.text[:_TEXT_CHARS], passage.title[:_TITLE_CHARS]
        chars_left -= len(text) + len(title)
        if chars_left < 0:
            break
        boxes = [
            ReadBox(left=left, top=top, right=right, bottom=bottom)
            for left, top, right, bottom in passage.boxes[:_BOXES]
        ]
        passages_cut.append(ReadPassage(text=text, title=title, kind=_KIND[passage.kind], boxes=boxes))
    return ReadRequest(
        question=question[:_QUESTION_CHARS],
        passages=passages_cut,
        subject=subject[:_SUBJECT_CHARS] if subject else None,
    )


def readings(reply: ReadReply, passages: Sequence[ReadPassage]) -> tuple[Reading, ...]:
    """Return the reply's answers. Raises `DependencyUnavailable` for a span outside its passage."""
    for each in reply.answers:
        span, index = each.span, each.passage_index
        if not 0 <= index < len(passages) or passages[index].text[span.start : span.end] != span.text:
            raise DependencyUnavailable("reader sent a reply that breaks its contract.")
    return tuple(
        Reading(each.passage_index, each.sentence.text, each.spoken, each.probability)
        for each in reply.answers
    )
