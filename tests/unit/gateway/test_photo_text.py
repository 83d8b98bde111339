"""OCR's quadrilaterals as boxes: level text stays where it is, turned photos are turned back."""

import math
from collections.abc import Sequence

import pytest

from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from gateway.clients.photo_text import photo_text

WIDTH, HEIGHT = 900, 1200
ROWS = (("Onion soup", 100, 300), ("Beef stew", 100, 400), ("Apple tart", 100, 500))


def read_at(angle: float, rows: Sequence[tuple[str, int, int]] = ROWS) -> OcrReply:
    """Lines of text, each with its left and top, on a photo turned by `angle` radians about its centre."""
    lines = []
    for text, left, top in rows:
        corners = ((left, top), (left + 300, top), (left + 300, top + 40), (left, top + 40))
        quadrilateral = [turned(x, y, angle) for x, y in corners]
        lines.append(TextLine(text=text, score=0.99, quadrilateral=quadrilateral))
    return OcrReply(lines=lines, width=WIDTH, height=HEIGHT)


def covered(angle: float) -> tuple[float, float]:
    """Width and height of what a photo that was turned back covers."""
    cos, sin = abs(math.cos(angle)), abs(math.sin(angle))
    return WIDTH * cos + HEIGHT * sin, WIDTH * sin + HEIGHT * cos


def turned(x: float, y: float, angle: float) -> Point:
    dx, dy = x - WIDTH / 2, y - HEIGHT / 2
    cos, sin = math.cos(angle), math.sin(angle)
    return Point(x=WIDTH / 2 + dx * cos - dy * sin, y=HEIGHT / 2 + dx * sin + dy * cos)


def test_level_text_keeps_its_place() -> None:
    first = photo_text(read_at(0.0)).lines[0]
    assert first.box == (100 / WIDTH, 300 / HEIGHT, 400 / WIDTH, 340 / HEIGHT)
    assert photo_text(OcrReply(lines=[], width=WIDTH, height=HEIGHT)).lines == ()


def test_a_price_far_to_the_right_stays_beside_its_dish_on_a_photo_taken_askew() -> None:
    menu = (("Onion soup", 100, 300), ("€4.50", 700, 300), ("Beef stew", 100, 350), ("€9.00", 700, 350))
    for degrees in (6, -6, 12):
        lines = photo_text(read_at(math.radians(degrees), menu)).lines
        boxes = {line.text: line.box for line in lines}
        middles = {text: (top + bottom) / 2 for text, (_, top, _, bottom) in boxes.items()}
        assert boxes["Onion soup"][1] < middles["€4.50"] < boxes["Onion soup"][3]
        assert boxes["Beef stew"][1] < middles["€9.00"] < boxes["Beef stew"][3]


def test_text_upside_down_or_askew_is_read_from_top_to_bottom_and_level() -> None:
    for degrees in (180, 90, -90, 35, -35):
        lines = photo_text(read_at(math.radians(degrees))).lines
        assert [line.text for line in lines] == [text for text, _, _ in ROWS]
        for left, top, right, bottom in (line.box for line in lines):
            wide, high = covered(math.radians(degrees))
            assert ((right - left) * wide, (bottom - top) * high) == pytest.approx((300, 40))
        assert all(0 <= edge <= 1 for line in lines for edge in line.box)


def test_what_stands_side_by_side_is_one_row_of_text() -> None:
    menu = (("Onion soup", 100, 300), ("€4.50", 700, 300), ("Desserts", 100, 350), ("Tart", 100, 400))
    assert photo_text(read_at(math.radians(6), menu)).rows == "Onion soup €4.50\nDesserts\nTart"
