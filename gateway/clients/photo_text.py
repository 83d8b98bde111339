"""Convert OCR's lines: boxes in a frame in which the text is level."""

import math
from collections.abc import Sequence

from contracts.geometry import Point
from contracts.ocr import OcrReply
from contracts.ocr import TextLine as ReadLine
from gateway.state import Box, PhotoText, TextLine
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
