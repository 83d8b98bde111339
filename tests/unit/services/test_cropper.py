"""The cropper: its classical engine, what it makes of detections, and its service."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from chassis.rgb import RGB
from contracts.cropper import CropReply
from services.cropper.app import create_app
from services.cropper.engines.builtin import BuiltinCropper
from services.cropper.engines.detection import Detection, Phrase, label_of, overlaps, without_doubles
from services.cropper.engines.geometry import overlap, rectify, sort_corners, target_size
from services.cropper.settings import CropperSettings
from tests.live import live
from tests.unit.services.image_search_calls import jpeg
from tests.unit.services.sample_pictures import LEANING, picture, warped


def tilted_cover(name: str) -> RGB:
    """Return a photo of a cover at an angle on an uneven, noisy table."""
    rng = np.random.default_rng(3)
    patches = rng.uniform(-25, 25, (4, 4, 3)).astype(np.float32)
    photo = warped(picture(name)) + np.asarray(cv2.resize(patches, (640, 640), interpolation=cv2.INTER_CUBIC))
    return np.clip(photo + rng.normal(0, 4, photo.shape), 0, 255).astype(np.uint8)


CORNERS = sort_corners(np.array(LEANING, np.float32) * 640)


@pytest.mark.parametrize("name", ["book-0088", "food-0031", "menu-0055"])
def test_tilted_cover_is_the_best_region(name: str) -> None:
    best = BuiltinCropper().crop(tilted_cover(name), [], 6)[0]
    assert best.kind == "quadrilateral"
    assert overlap(np.array(best.corners, np.float32), CORNERS) >= 0.8


def test_a_rectified_cover_looks_like_the_cover() -> None:
    straight, original = rectify(tilted_cover("book-0088"), CORNERS), picture("book-0088")
    resized = cv2.resize(straight, (original.shape[1], original.shape[0]))
    assert np.corrcoef(resized.ravel(), original.ravel())[0, 1] > 0.9


def test_rectified_crop_keeps_the_objects_proportions() -> None:
    wide, tall, focal = 400.0, 600.0, 1000.0
    corners = np.array([[-wide, -tall], [wide, -tall], [wide, tall], [-wide, tall]]) / 2
    tilt = np.deg2rad(40)
    turned = np.c_[corners[:, 0], corners[:, 1] * np.cos(tilt), corners[:, 1] * np.sin(tilt) + 1200]
    seen = turned[:, :2] / turned[:, 2:] * focal + np.array([480, 640])
    width, height = target_size(sort_corners(seen), 960, 1280)
    assert width / height == pytest.approx(wide / tall, rel=0.05)


def test_several_objects_are_found_without_near_duplicates() -> None:
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


def noticeboard() -> RGB:
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
def test_box_gets_the_label_with_the_strongest_word(
    values: np.ndarray[tuple[int], np.dtype[np.float32]], label: str | None
) -> None:
    assert label_of(values, [CAR, RED_CAR], 0.3) == label


def test_near_duplicates_are_merged_and_neighbours_kept() -> None:
    boxes = [(0, 0, 100, 100), (2, 0, 100, 100), (40, 0, 140, 100), (20, 20, 60, 60)]
    ranked = [0.5, 0.9, 0.4, 0.3]
    results = [Detection(box, str(place), ranked[place]) for place, box in enumerate(boxes)]
    assert [each.label for each in without_doubles(results, 0.8)] == ["1", "2", "3"]
    assert without_doubles([], 0.8) == []


def test_boxes_without_area_overlap_nothing() -> None:
    flat = np.array([[5, 5, 5, 9], [0, 0, 10, 10]], np.float64)
    assert overlaps(flat[0], flat).tolist() == [0, 0]
    assert overlaps(flat[1], flat).tolist() == [0, 1]


async def test_regions_come_with_their_rectified_jpeg() -> None:
    async with live(create_app(CropperSettings(port=0))) as client:
        files = {"image": ("photo.jpg", jpeg(tilted_cover("book-0088")), "image/jpeg")}
        reply = await client.post("/v1/crop", files=files, data={"max_regions": "3"})
        labelled = await client.post("/v1/crop", files=files, data={"labels": ["book", "sign"]})
        wrong = await client.post("/v1/crop", files={"image": b"just words"})
    assert wrong.json()["type"] == "urn:loreglass:problem:unsupported_image"
    assert {region["label"] for region in labelled.json()["regions"]} <= {"book", "sign"}
    crops = CropReply.model_validate_json(reply.content)
    assert 1 <= len(crops.regions) <= 3
    assert (crops.width, crops.height) == (640, 640)
    best = Image.open(io.BytesIO(crops.regions[0].image))
    assert (best.format, max(best.size) > 300) == ("JPEG", True)
    box = crops.regions[0].box
    assert 0 <= box.left < box.right <= 640
    assert 0 <= box.top < box.bottom <= 640
