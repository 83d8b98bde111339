"""OCR's quadrilaterals as boxes: level text stays where it is, turned photos are turned back."""

import math

from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from gateway.clients.photo_text import photo_text

WIDTH, HEIGHT = 900, 1200
ROWS = (("Onion soup", 100, 300), ("Beef stew", 100, 400), ("Apple tart", 100, 500))


def read_at(angle: float) -> OcrReply:
    """Three rows of text on a photo turned by `angle` radians about its centre."""
    lines = [
        TextLine(
            text=text,
            score=0.99,
            quadrilateral=[
                turned(x, y, angle)
                for x, y in ((left, top), (left + 300, top), (left + 300, top + 40), (left, top + 40))
            ],
        )
        for text, left, top in ROWS
    ]
    return OcrReply(lines=lines, width=WIDTH, height=HEIGHT)


def turned(x: float, y: float, angle: float) -> Point:
    dx, dy = x - WIDTH / 2, y - HEIGHT / 2
    cos, sin = math.cos(angle), math.sin(angle)
    return Point(x=WIDTH / 2 + dx * cos - dy * sin, y=HEIGHT / 2 + dx * sin + dy * cos)


def test_level_text_keeps_its_place() -> None:
    first = photo_text(read_at(0.0)).lines[0]
    assert first.box == (100 / WIDTH, 300 / HEIGHT, 400 / WIDTH, 340 / HEIGHT)
    assert first.slope == 0


def test_a_small_tilt_is_kept_as_a_slope() -> None:
    assert photo_text(read_at(math.radians(5))).lines[0].slope > 0.05


def test_text_upside_down_or_askew_is_read_from_top_to_bottom_and_level() -> None:
    for degrees in (180, 90, -90, 35, -35):
        lines = photo_text(read_at(math.radians(degrees))).lines
        assert [line.text for line in lines] == [text for text, _, _ in ROWS]
        assert all(abs(line.slope) < 1e-6 for line in lines)
        assert all(0 <= edge <= 1 for line in lines for edge in line.box)


def test_no_lines_give_no_text() -> None:
    assert photo_text(OcrReply(lines=[], width=WIDTH, height=HEIGHT)).lines == ()
