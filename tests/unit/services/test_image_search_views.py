"""The views of a photo that an encoder gets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.image_search.engine import RGB
from services.image_search.views import Fit, Frame, centres_first, framed_views, square_views

FRAME = Frame(32, 32)
SIDES = st.integers(16, 400)


def photo(height: int, width: int) -> RGB:
    return np.random.default_rng(height * 1000 + width).integers(0, 255, (height, width, 3), np.uint8)


def striped(height: int, width: int) -> RGB:
    """Red at the start of its longer side, green in the middle, blue at the end."""
    bands = np.zeros((90, 30, 3), np.uint8)
    for band in range(3):
        bands[band * 30 : band * 30 + 30, :, band] = 255
    tall = np.repeat(np.repeat(bands, max(height, width) // 90, 0), min(height, width) // 30, 1)
    return tall if height > width else np.ascontiguousarray(tall.transpose(1, 0, 2))


@pytest.mark.parametrize(("height", "width"), [(270, 90), (90, 270)])
def test_a_long_photo_is_seen_at_its_centre_and_at_both_ends(height: int, width: int) -> None:
    views = framed_views(striped(height, width), FRAME)
    assert [int(view.mean((0, 1)).argmax()) for view in views] == [1, 0, 2]


@pytest.mark.parametrize(("height", "width"), [(100, 100), (125, 100), (100, 120)])
def test_a_photo_that_nearly_fits_is_seen_once(height: int, width: int) -> None:
    assert len(framed_views(photo(height, width), FRAME)) == 1
    assert len(square_views(photo(height, width), 300)) == 1


def test_what_counts_as_long_is_a_setting() -> None:
    assert len(framed_views(photo(200, 100), FRAME, ends_above=2)) == 1
    assert len(framed_views(photo(120, 100), FRAME, ends_above=1.1)) == 3


@given(height=SIDES, width=SIDES, fit=st.sampled_from(Fit))
def test_every_view_fills_the_frame(height: int, width: int, fit: Fit) -> None:
    for frame in (Frame(32, 32, fit), Frame(24, 40, fit)):
        assert {view.shape for view in framed_views(photo(height, width), frame)} == {
            (frame.height, frame.width, 3)
        }


@given(height=SIDES, width=SIDES)
def test_squares_are_no_larger_than_is_sent(height: int, width: int) -> None:
    side = min(height, width, 64)
    assert {view.shape for view in square_views(photo(height, width), 64)} == {(side, side, 3)}


def test_squares_hold_the_photo_s_own_pixels() -> None:
    picture = photo(90, 40)
    centre, top, bottom = square_views(picture, 64)
    assert np.array_equal(centre, picture[25:65])
    assert np.array_equal(top, picture[:40])
    assert np.array_equal(bottom, picture[50:])


@pytest.mark.parametrize("fit", [Fit.SQUASH, Fit.LONGEST])
def test_a_frame_that_takes_the_whole_photo_needs_no_ends(fit: Fit) -> None:
    (view,) = framed_views(striped(270, 90), Frame(32, 32, fit))
    assert [int(view[row, 16].argmax()) for row in (2, 16, 29)] == [0, 1, 2]


def test_every_photo_s_centre_comes_before_any_photo_s_ends() -> None:
    views = [framed_views(striped(270, 90), FRAME), framed_views(photo(50, 50), FRAME)]
    placed = centres_first(views)
    assert [index for index, _ in placed] == [0, 1, 0, 0]
    assert placed[0][1] is views[0][0]
    assert placed[1][1] is views[1][0]
