"""The cropper: its classical engine, what it makes of detections, and its service."""

import io
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from contracts.cropper import CropReply
from services.cropper.app import create_app
from services.cropper.engines.builtin import BuiltinCropper
from services.cropper.engines.detection import Detection, Phrase, label_of, overlaps, without_doubles
from services.cropper.engines.geometry import overlap, rectify, sort_corners, target_size
from services.cropper.settings import CropperSettings
from tests.live import live
from tests.unit.chassis.pictures import encoded

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Scene:
    """`corners` (4, 2), clockwise from the card's own top left."""

    photo: npt.NDArray[np.uint8]
    corners: Array


def card(rng: np.random.Generator, width: int = 420, height: int = 600) -> Array:
    """A cover: a ground, a frame, a few shapes and a title."""
    ground, ink = rng.integers(140, 240, 3), rng.integers(0, 90, 3)
    drawn = np.full((height, width, 3), ground, np.uint8)
    cv2.rectangle(drawn, (30, 30), (width - 30, height - 30), ink.tolist(), 4)
    for _ in range(12):
        centre = rng.integers((80, 200), (width - 80, height - 80)).tolist()
        cv2.circle(drawn, centre, int(rng.integers(8, 50)), rng.integers(0, 255, 3).tolist(), -1)
    cv2.putText(drawn, "HARBOUR", (60, 130), cv2.FONT_HERSHEY_DUPLEX, 2.0, ink.tolist(), 4)
    return drawn


def scene(seed: int, width: int = 960, height: int = 1280) -> Scene:
    """The card seen at an angle on a darker, uneven, noisy table."""
    rng = np.random.default_rng(seed)
    drawn = card(rng)
    tall, wide = drawn.shape[:2]
    scale = rng.uniform(0.9, 1.4)
    half = np.array([[-wide, -tall], [wide, -tall], [wide, tall], [-wide, tall]]) * scale / 2
    half = half + rng.uniform(-40, 40, (4, 2))
    turn = rng.uniform(-0.35, 0.35)
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    corners = (half @ rotation + np.array([width, height]) / 2).astype(np.float32)
    source = np.array([[0, 0], [wide, 0], [wide, tall], [0, tall]], np.float32)
    table = np.full((height, width, 3), rng.integers(30, 110, 3), np.float32)
    patches = rng.uniform(-25, 25, (height // 160, width // 160, 3)).astype(np.float32)
    table += np.asarray(cv2.resize(patches, (width, height), interpolation=cv2.INTER_CUBIC))
    model = cv2.getPerspectiveTransform(source, corners)
    laid = np.asarray(cv2.warpPerspective(drawn.astype(np.float32), model, (width, height)))
    mask = np.asarray(cv2.warpPerspective(np.ones((tall, wide), np.float32), model, (width, height)))
    photo = table * (1 - mask[..., None]) + laid * mask[..., None]
    noisy = photo + rng.normal(0, 4, photo.shape)
    return Scene(np.clip(noisy, 0, 255).astype(np.uint8), corners)


@pytest.mark.parametrize("seed", range(3))
def test_a_card_seen_at_an_angle_is_the_best_region(seed: int) -> None:
    shown = scene(seed)
    best = BuiltinCropper().crop(shown.photo, [], 6)[0]
    assert best.kind == "quadrilateral"
    assert overlap(np.array(best.corners, np.float32), sort_corners(shown.corners)) >= 0.8


def test_a_rectified_card_looks_like_the_card() -> None:
    shown = scene(1)
    straight = rectify(shown.photo, sort_corners(shown.corners))
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
    width, height = target_size(sort_corners(seen), 960, 1280)
    assert width / height == pytest.approx(wide / tall, rel=0.05)


def test_several_things_come_at_once_without_near_doubles() -> None:
    photo = np.full((600, 900, 3), 40, np.uint8)
    photo[100:500, 80:380] = (220, 200, 60)
    photo[100:500, 520:820] = (60, 200, 220)
    regions = BuiltinCropper().crop(photo, [], 6)
    quads = [np.array(region.corners, np.float32) for region in regions]
    truths = [
        sort_corners(np.array([[left, 100], [left + 300, 100], [left + 300, 500], [left, 500]]))
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
    regions = [region for region in BuiltinCropper().crop(noticeboard(), [], 6) if region.kind == "text"]
    xs, ys = zip(*regions[0].corners, strict=True)
    assert min(xs) < 190
    assert max(xs) > 520
    assert min(ys) < 180
    assert max(ys) > 315


def test_a_label_prefers_regions_of_its_usual_kind() -> None:
    plain = BuiltinCropper().crop(noticeboard(), [], 8)
    regions = BuiltinCropper().crop(noticeboard(), ["text"], 8)
    assert (plain[0].kind, plain[0].label) == ("quadrilateral", None)
    assert (regions[0].kind, regions[0].label) == ("text", "text")


def test_small_regions_and_those_at_the_edge_are_flagged() -> None:
    photo = np.full((600, 900, 3), 40, np.uint8)
    photo[200:290, 400:500] = 230
    photo[300:560, 0:300] = (230, 40, 40)
    flags = {
        (region.small, region.touches_edge)
        for region in BuiltinCropper().crop(photo, [], 8)
        if region.kind == "quadrilateral"
    }
    assert (True, False) in flags
    assert (False, True) in flags


@pytest.mark.parametrize("shape", [(1, 1), (1, 400), (400, 1), (16, 16), (17, 640)])
def test_tiny_and_narrow_pictures_do_not_fail(shape: tuple[int, int]) -> None:
    photo = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert isinstance(BuiltinCropper().crop(photo, ["book"], 4), list)


@pytest.mark.parametrize("level", [0, 128, 255])
def test_an_empty_picture_has_no_region(level: int) -> None:
    assert BuiltinCropper().crop(np.full((480, 640, 3), level, np.uint8), [], 4) == []


def test_crops_are_at_most_1024_pixels_a_side() -> None:
    photo = np.full((2600, 2000, 3), 30, np.uint8)
    photo[200:2400, 200:1800] = 220
    assert max(BuiltinCropper().crop(photo, [], 1)[0].crop.shape[:2]) == 1024


CAR, RED_CAR = Phrase("car", 1, 3), Phrase("red car", 3, 6)


def scores(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (scores(0, 0.6, 0, 0.1, 0.5, 0, 0), "car"),
        (scores(0, 0.5, 0, 0.1, 0.6, 0, 0), "red car"),
        (scores(0, 0.5, 0.1, 0.5, 0.5, 0.5, 0), "red car"),
        (scores(0, 0.5, 0.4, 0.1, 0.5, 0.1, 0), "car"),
        (scores(0.9, 0.2, 0, 0.3, 0.1, 0, 0.9), None),
    ],
)
def test_a_box_is_called_by_the_label_with_the_strongest_word(
    values: np.ndarray[tuple[int], np.dtype[np.float32]], label: str | None
) -> None:
    assert label_of(values, [CAR, RED_CAR], 0.3) == label


def test_near_doubles_leave_the_surest_and_neighbours_stay() -> None:
    boxes = [(0, 0, 100, 100), (2, 0, 100, 100), (40, 0, 140, 100), (20, 20, 60, 60)]
    ranked = [0.5, 0.9, 0.4, 0.3]
    results = [Detection(box, str(place), ranked[place]) for place, box in enumerate(boxes)]
    assert [each.label for each in without_doubles(results, 0.8)] == ["1", "2", "3"]
    assert without_doubles([], 0.8) == []


def test_boxes_without_area_overlap_nothing() -> None:
    flat = np.array([[5, 5, 5, 9], [0, 0, 10, 10]], np.float64)
    assert overlaps(flat[0], flat).tolist() == [0, 0]
    assert overlaps(flat[1], flat).tolist() == [0, 1]


def jpeg(seed: int = 0) -> bytes:
    return encoded(Image.fromarray(scene(seed).photo), "JPEG", quality=90)


async def test_regions_come_with_their_rectified_jpeg() -> None:
    async with live(create_app(CropperSettings(port=0))) as client:
        files = {"image": ("photo.jpg", jpeg(), "image/jpeg")}
        reply = await client.post("/v1/crop", files=files, data={"max_regions": "3"})
        labelled = await client.post("/v1/crop", files=files, data={"labels": ["book", "sign"]})
    assert {region["label"] for region in labelled.json()["regions"]} <= {"book", "sign"}
    crops = CropReply.model_validate_json(reply.content)
    assert 1 <= len(crops.regions) <= 3
    assert (crops.width, crops.height) == (960, 1280)
    best = Image.open(io.BytesIO(crops.regions[0].image))
    assert best.format == "JPEG"
    assert max(best.size) > 300
    box = crops.regions[0].box
    assert 0 <= box.left < box.right <= 960
    assert 0 <= box.top < box.bottom <= 1280


async def test_invalid_requests_are_refused() -> None:
    cases: list[tuple[bytes, dict[str, Any], str]] = [
        (b"just words", {}, "unsupported_image"),
        (b"", {}, "corrupt_image"),
        (jpeg(), {"max_regions": "0"}, "invalid_request"),
        (jpeg(), {"labels": ["x" * 101]}, "invalid_request"),
    ]
    async with live(create_app(CropperSettings(port=0))) as client:
        for content, fields, kind in cases:
            files = {"image": ("photo.jpg", content, "image/jpeg")}
            reply = await client.post("/v1/crop", files=files, data=fields)
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}"
