"""ocr: text lines of a photo. `POST /v1/ocr`, multipart `image`."""

from contracts.geometry import Point
from contracts.message import Message


class TextLine(Message):
    """One line. `quadrilateral`: four corners from the top left clockwise; `score` in 0..1."""

    text: str
    score: float
    quadrilateral: list[Point]


class OcrReply(Message):
    """Lines in reading order; `width` and `height` are the photo's pixels as the service saw it.

    `lines_left_out`: found and not read, because the page has more than is read of one photo.
    """

    lines: list[TextLine]
    width: int
    height: int
    lines_left_out: int = 0
