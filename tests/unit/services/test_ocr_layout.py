"""Reading order, without any model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from services.ocr.engines.layout import reading_order

Points = NDArray[np.float64]


def line(left: float, top: float, width: float = 200, height: float = 30) -> Points:
    return np.array(
        [[left, top], [left + width, top], [left + width, top + height], [left, top + height]], dtype=float
    )


def turned(corners: Points, degrees: float) -> Points:
    angle = np.radians(degrees)
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray(corners @ rotation)


TITLE, LEFT_1, LEFT_2 = line(0, 0, 600, 60), line(0, 100), line(0, 140)
RIGHT_1, RIGHT_2 = line(400, 100), line(400, 140)


def test_a_column_is_read_to_its_end_before_the_next() -> None:
    shuffled = [RIGHT_2, LEFT_1, TITLE, RIGHT_1, LEFT_2]
    assert reading_order(shuffled, ["and then", "once", "Title", "there", "upon"], 0) == [2, 1, 4, 3, 0]


def test_prices_stay_beside_their_dishes() -> None:
    shuffled = [RIGHT_2, LEFT_1, RIGHT_1, LEFT_2]
    assert reading_order(shuffled, ["8.20", "Soup", "5.80", "Tart"], 0) == [1, 2, 3, 0]


@pytest.mark.parametrize("quarter_turns", [0, 1, 2, 3])
@pytest.mark.parametrize("tilt", [-12.0, 0.0, 9.0])
def test_a_turned_and_tilted_photo_reads_the_same(quarter_turns: int, tilt: float) -> None:
    lines = [
        turned(corners, 90 * quarter_turns + tilt) for corners in (RIGHT_2, LEFT_1, TITLE, RIGHT_1, LEFT_2)
    ]
    assert reading_order(lines, list("edabc"), quarter_turns) == [2, 1, 4, 3, 0]


def test_uneven_words_of_a_line_keep_their_order() -> None:
    words = [line(220, 0, 90), line(0, 4, 90), line(110, 8, 90)]
    assert reading_order(words, ["c", "a", "b"], 0) == [1, 2, 0]


def test_no_lines_have_no_order() -> None:
    assert reading_order([], [], 0) == []


@given(
    st.lists(st.tuples(st.floats(0, 900), st.floats(0, 900), st.floats(5, 300)), min_size=1, max_size=25),
    st.integers(0, 3),
)
def test_every_line_is_read_exactly_once(places: list[tuple[float, float, float]], turns: int) -> None:
    lines = [line(left, top, width, 20) for left, top, width in places]
    assert sorted(reading_order(lines, ["x"] * len(lines), turns)) == list(range(len(lines)))


def test_perspective_does_not_part_a_price_from_its_dish() -> None:
    """Lines fan out: each further down slopes more, and the prices are far to the right."""
    dishes = [line(0, 60 * row, 300, 34) for row in range(6)]
    prices = [line(700, 60 * row, 60, 34) for row in range(6)]

    def seen(corners: Points) -> Points:
        x, y = corners[:, 0], corners[:, 1]
        return np.column_stack([x, y + x * (y - 60) * 0.0005])

    order = reading_order([seen(c) for c in (*dishes, *prices)], ["dish"] * 6 + ["4.50"] * 6, 0)
    assert order == [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]
