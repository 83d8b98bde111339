"""The built-in cropper on scenes with known corners and on empty pictures."""

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from services.cropper.engines.pocket import PocketCropper
from services.cropper.geometry import ordered, overlap, rectified, target_size
from tests.unit.services.cropper_scenes import card, scene


@pytest.mark.parametrize("seed", range(3))
def test_a_card_seen_at_an_angle_is_the_best_region(seed: int) -> None:
    shown = scene(seed)
    best = PocketCropper().crop(shown.photo, [], 6)[0]
    assert best.kind == "quadrilateral"
    assert overlap(np.array(best.corners, np.float32), ordered(shown.corners)) >= 0.8


def test_a_rectified_card_looks_like_the_card() -> None:
    shown = scene(1)
    straight = rectified(shown.photo, ordered(shown.corners))
    original = card(np.random.default_rng(1))
    resized = cv2.resize(straight, (original.shape[1], original.shape[0]))
    correlation = np.corrcoef(resized.ravel(), original.ravel())[0, 1]
    assert correlation > 0.9


def test_rectified_proportions_are_those_of_the_thing() -> None:
    wide, tall, focal = 400.0, 600.0, 1000.0
    corners = np.array([[-wide, -tall], [wide, -tall], [wide, tall], [-wide, tall]]) / 2
    tilt = np.deg2rad(40)
    turned = np.c_[corners[:, 0], corners[:, 1] * np.cos(tilt), corners[:, 1] * np.sin(tilt) + 1200]
    seen = turned[:, :2] / turned[:, 2:] * focal + np.array([480, 640])
    width, height = target_size(ordered(seen), 960, 1280)
    assert width / height == pytest.approx(wide / tall, rel=0.05)


def test_several_things_come_at_once_without_near_doubles() -> None:
    photo = np.full((600, 900, 3), 40, np.uint8)
    photo[100:500, 80:380] = (220, 200, 60)
    photo[100:500, 520:820] = (60, 200, 220)
    regions = PocketCropper().crop(photo, [], 6)
    quads = [np.array(region.corners, np.float32) for region in regions]
    truths = [
        ordered(np.array([[left, 100], [left + 300, 100], [left + 300, 500], [left, 500]]))
        for left in (80, 520)
    ]
    assert all(max(overlap(quad, truth) for quad in quads) > 0.9 for truth in truths)
    assert [region.score for region in regions] == sorted((each.score for each in regions), reverse=True)
    assert all(overlap(first, second) < 0.6 for place, first in enumerate(quads) for second in quads[:place])


def noticeboard() -> npt.NDArray[np.uint8]:
    """Three lines of text on a wall, and a dark door."""
    photo = np.full((600, 1000, 3), 235, np.uint8)
    photo[100:560, 760:940] = (90, 50, 30)
    for row, line in enumerate(["opening hours", "monday to friday", "nine to five"]):
        cv2.putText(photo, line, (180, 200 + 60 * row), cv2.FONT_HERSHEY_SIMPLEX, 1.4, (20, 20, 20), 3)
    return photo


def test_lines_of_text_are_a_region() -> None:
    regions = [region for region in PocketCropper().crop(noticeboard(), [], 6) if region.kind == "text"]
    xs, ys = zip(*regions[0].corners, strict=True)
    assert min(xs) < 190
    assert max(xs) > 520
    assert min(ys) < 180
    assert max(ys) > 315


def test_a_label_prefers_regions_of_its_usual_kind() -> None:
    plain = PocketCropper().crop(noticeboard(), [], 8)
    asked = PocketCropper().crop(noticeboard(), ["text"], 8)
    assert (plain[0].kind, plain[0].label) == ("quadrilateral", None)
    assert (asked[0].kind, asked[0].label) == ("text", "text")


def test_small_regions_and_those_at_the_edge_are_flagged() -> None:
    photo = np.full((600, 900, 3), 40, np.uint8)
    photo[200:290, 400:500] = 230
    photo[300:560, 0:300] = (230, 40, 40)
    flags = {
        (region.small, region.touches_edge)
        for region in PocketCropper().crop(photo, [], 8)
        if region.kind == "quadrilateral"
    }
    assert (True, False) in flags
    assert (False, True) in flags


@pytest.mark.parametrize("shape", [(1, 1), (1, 400), (400, 1), (16, 16), (17, 640)])
def test_tiny_and_narrow_pictures_do_not_fail(shape: tuple[int, int]) -> None:
    photo = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert isinstance(PocketCropper().crop(photo, ["book"], 4), list)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_an_empty_picture_has_no_region(level: int) -> None:
    assert PocketCropper().crop(np.full((480, 640, 3), level, np.uint8), [], 4) == []


def test_crops_are_at_most_1024_pixels_a_side() -> None:
    photo = np.full((2600, 2000, 3), 30, np.uint8)
    photo[200:2400, 200:1800] = 220
    assert max(PocketCropper().crop(photo, [], 1)[0].crop.shape[:2]) == 1024
