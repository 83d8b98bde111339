"""JPEGs that are cut instead of encoded again: nothing but pixels is left, and the pixels are the same."""

import io
import random
import re
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from chassis.decoding.photos import cut_clean
from chassis.images import ImageLimits, clean_image
from tests.unit.chassis import pictures

LIMITS = ImageLimits()
LEFT = {0xD8, 0xE0, 0xDB, 0xC4, 0xDD, 0xC0, 0xDA, 0xD9}
NEEDLE = b"<script>needle</script>"


def photo(**options: object) -> bytes:
    """A JPEG of little detail: what is well under the bytes that a picture of its size may have."""
    ramp = np.linspace(0, 255, 200 * 150 * 3).reshape(150, 200, 3)
    waves = 20 * np.sin(np.arange(200 * 150 * 3) / 7).reshape(150, 200, 3)
    picture = Image.fromarray((ramp + waves).clip(0, 255).astype(np.uint8))
    return pictures.encoded(picture, "JPEG", **({"quality": 85} | options))


PHOTO = photo()
SEGMENT = b"\xff\xe5" + (2 + len(NEEDLE)).to_bytes(2) + NEEDLE
SCAN = PHOTO.index(b"\xff\xda")


def kinds(jpeg: bytes) -> list[int]:
    """Of all markers but restarts, read by a walk of the test's own."""
    results, at = [jpeg[1]], 2
    while jpeg[at + 1] != 0xDA:
        results.append(jpeg[at + 1])
        at += 2 + int.from_bytes(jpeg[at + 2 : at + 4])
    at += 2 + int.from_bytes(jpeg[at + 2 : at + 4])
    return [*results, 0xDA, *(each[1] for each in re.findall(rb"\xff[^\x00\xd0-\xd7]", jpeg[at:]))]


def pixels(jpeg: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as picture:
        return np.asarray(picture.convert("RGB"))


def assert_cut(data: bytes) -> bytes:
    sent = cut_clean(data, LIMITS, 1_600)
    assert sent is not None
    result = kinds(sent.jpeg)
    assert set(result) <= LEFT
    assert [result.count(each) for each in (0xD8, 0xE0, 0xC0, 0xDA, 0xD9)] == [1] * 5
    assert sent.jpeg.endswith(b"\xff\xd9")
    assert np.array_equal(pixels(sent.jpeg), pixels(data))
    return sent.jpeg


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsampling": 0},
        {"subsampling": 1},
        {"optimize": True},
        {"restart_marker_blocks": 3},
        {"restart_marker_rows": 1},
        {"comment": NEEDLE, "icc_profile": NEEDLE, "exif": b"Exif\0\0" + NEEDLE},
    ],
)
def test_camera_jpeg_keeps_only_its_pixels(options: dict[str, object]) -> None:
    assert NEEDLE not in assert_cut(photo(**options))


@pytest.mark.parametrize(
    "beside",
    [
        PHOTO[:2] + SEGMENT * 8 + PHOTO[2:],
        PHOTO[:SCAN] + SEGMENT + PHOTO[SCAN:],
        PHOTO + NEEDLE,
        PHOTO + b"\xff\xd8" + NEEDLE + PHOTO,
    ],
    ids=["first", "before the scan", "behind the end", "a second picture"],
)
def test_jpeg_metadata_is_cut_off(beside: bytes) -> None:
    assert assert_cut(beside) == assert_cut(PHOTO)


def with_frame(kind: int) -> bytes:
    at = PHOTO.index(b"\xff\xc0")
    return PHOTO[: at + 1] + bytes([kind]) + PHOTO[at + 2 :]


TABLE = PHOTO[(_dqt := PHOTO.index(b"\xff\xdb")) : _dqt + 69]
OTHER_WAY: dict[str, Callable[[], bytes]] = {
    "progressive": lambda: photo(progressive=True),
    "grey": lambda: pictures.encoded(Image.open(io.BytesIO(PHOTO)).convert("L"), "JPEG"),
    "four inks": lambda: pictures.encoded(Image.open(io.BytesIO(PHOTO)).convert("CMYK"), "JPEG"),
    "stored as red, green, blue": lambda: photo(keep_rgb=True),
    "more bytes than such a picture needs": lambda: pictures.encoded(
        Image.fromarray(np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)), "JPEG", quality=95
    ),
    "extended": lambda: with_frame(0xC1),
    "lossless": lambda: with_frame(0xC3),
    "arithmetic": lambda: with_frame(0xC9),
    "a table twice": lambda: PHOTO[:SCAN] + TABLE + PHOTO[SCAN:],
    "a table that nothing uses": lambda: PHOTO[:SCAN] + TABLE[:4] + b"\x03" + TABLE[5:] + PHOTO[SCAN:],
    "another number of lines": lambda: PHOTO[:-2] + b"\xff\xdc\x00\x04\x00\x10\xff\xd9",
    "restarts that nobody announced": lambda: PHOTO[:-2] + b"\xff\xd0\xff\xd9",
    "no end": lambda: PHOTO[:-2],
    "too few coded data": lambda: PHOTO[:-200] + b"\xff\xd9",
    "other bytes behind the coded data": lambda: PHOTO[:-2] + NEEDLE + b"\xff\xd9",
    "too many segments": lambda: PHOTO[:2] + SEGMENT * 100 + PHOTO[2:],
    "lying on its side": lambda: photo(
        exif=b"Exif\0\0MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"
    ),
}


@pytest.mark.parametrize("kind", OTHER_WAY)
def test_other_formats_are_decoded_and_encoded(kind: str) -> None:
    assert cut_clean(OTHER_WAY[kind](), LIMITS, 1_600) is None


def test_a_photo_that_is_too_large_or_shows_nothing_is_not_cut() -> None:
    assert cut_clean(PHOTO, LIMITS, 199) is None
    assert cut_clean(PHOTO, ImageLimits(min_side=151), 1_600) is None


def test_cleaning_is_idempotent() -> None:
    once = clean_image(PHOTO, LIMITS, 1_600)
    assert clean_image(once.jpeg, LIMITS, 1_600) == once


def test_damaged_photos_are_cut_only_if_pixels_stay_equal() -> None:
    chance, cut = random.Random(19), 0
    originals = [photo(quality=50), photo(restart_marker_rows=1, comment=NEEDLE), photo(subsampling=0)]
    for _ in range(1_200):
        data = bytearray(chance.choice(originals))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(2, len(data)) if chance.random() < 0.5 else chance.randrange(2, 700)
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randint(1, 40)]
                case 2:
                    data[at:at] = chance.randbytes(chance.randint(1, 40))
                case _:
                    data[at:at] = bytes((0xFF, chance.randrange(256), 0, 4, 0, 0))
        if cut_clean(bytes(data), LIMITS, 1_600) is not None:
            assert_cut(bytes(data))
            cut += 1
    assert cut > 40  # or the test looks at nothing
