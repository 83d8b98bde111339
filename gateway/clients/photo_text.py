"""OCR's lines as the stages see them: boxes in the frame in which the text stands level."""

import math
from collections.abc import Sequence

from contracts.ocr import OcrReply
from contracts.ocr import TextLine as ReadLine
from gateway.state import PhotoText, TextLine

_LEVEL_WITHIN = math.radians(8)
"""A smaller tilt is left to the reader, who has each line's slope."""


def photo_text(reply: OcrReply) -> PhotoText:
    """The lines, boxes in shares of the photo; one taken askew or upside down is turned level first."""
    angle = _text_angle(reply.lines)
    frame = _Frame(reply.width, reply.height, 0.0 if abs(angle) < _LEVEL_WITHIN else angle)
    lines = tuple(frame.line(line) for line in reply.lines)
    if frame.angle:
        lines = tuple(sorted(lines, key=lambda line: (line.box[1] + line.box[3], line.box[0])))
    return PhotoText(lines)


def _text_angle(lines: Sequence[ReadLine]) -> float:
    """The direction in which most of the text runs, in radians; 0 is level, pi upside down."""
    x = y = 0.0
    for line in lines:
        start, end = line.quadrilateral[0], line.quadrilateral[1]
        if len(line.text) >= 3:
            x += end.x - start.x
            y += end.y - start.y
    return math.atan2(y, x) if x or y else 0.0


class _Frame:
    """Turns points back by `angle` and scales what the turned photo covers to 0..1."""

    def __init__(self, width: int, height: int, angle: float) -> None:
        self.angle = angle
        self._cos, self._sin = math.cos(-angle), math.sin(-angle)
        corners = [self._turn(x, y) for x in (0, width) for y in (0, height)]
        xs, ys = zip(*corners, strict=True)
        self._left, self._top = min(xs), min(ys)
        self._width, self._height = max(xs) - self._left, max(ys) - self._top

    def _turn(self, x: float, y: float) -> tuple[float, float]:
        return x * self._cos - y * self._sin, x * self._sin + y * self._cos

    def line(self, line: ReadLine) -> TextLine:
        """One line with its box and slope in this frame."""
        turned = [self._turn(point.x, point.y) for point in line.quadrilateral]
        xs = [(x - self._left) / self._width for x, _ in turned]
        ys = [(y - self._top) / self._height for _, y in turned]
        run = xs[1] - xs[0]
        slope = (ys[1] - ys[0]) / run if abs(run) > abs(xs[2] - xs[1]) else 0.0
        return TextLine(line.text, line.score, (min(xs), min(ys), max(xs), max(ys)), slope)
