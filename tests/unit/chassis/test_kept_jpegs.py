"""Ordinary JPEGs are not encoded anew: they keep their coded pixels, and nothing that stood beside them."""

import io
import struct
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from chassis.decoding import photos
from chassis.decoding.jpeg import pixels_only
from chassis.images import ImageLimits, clean_image
from tests.unit.chassis import pictures
from tests.unit.chassis.scans import segment

LIMITS = ImageLimits()
SIDE = 1_600
NEEDED = {0xD8, 0xE0, 0xDB, 0xC0, 0xC4, 0xDD, 0xDA, 0xD9}
JFIF = b"JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"


def view(width: int = 320, height: int = 240) -> Image.Image:
    """Blots of colour, as little to store as a photo."""
    blots = np.random.default_rng(3).integers(0, 256, (height // 24, width // 24, 3), dtype=np.uint8)
    return Image.fromarray(blots).resize((width, height), Image.Resampling.BICUBIC)


PHOTO = pictures.encoded(view(), "JPEG", quality=85)


def markers(jpeg: bytes) -> Iterator[tuple[int, bytes]]:
    """Each marker and its segment's content; the scan's with all that is coded behind it."""
    assert jpeg[:2] == b"\xff\xd8"
    at = 2
    while jpeg[at : at + 2] != b"\xff\xda":
        assert jpeg[at] == 0xFF
        (length,) = struct.unpack_from(">H", jpeg, at + 2)
        yield jpeg[at + 1], jpeg[at + 4 : at + 2 + length]
        at += 2 + length
    yield 0xDA, jpeg[at + 4 :]


def pixels(jpeg: bytes) -> bytes:
    with Image.open(io.BytesIO(jpeg)) as picture:
        return picture.convert("RGB").tobytes()


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
@pytest.mark.parametrize("restarts", [0, 3])
@pytest.mark.parametrize("own_tables", [False, True])
def test_an_ordinary_photo_keeps_its_pixels_to_the_bit(
    subsampling: str, restarts: int, own_tables: bool
) -> None:
    original = pictures.encoded(
        view(),
        "JPEG",
        quality=80,
        subsampling=subsampling,
        restart_marker_blocks=restarts,
        optimize=own_tables,
    )
    clean = clean_image(original, LIMITS, SIDE)
    assert (clean.width, clean.height) == (320, 240)
    assert pixels(clean.jpeg) == pixels(original)


def test_what_stands_beside_the_pixels_is_cut() -> None:
    thumbnail = pictures.encoded(view(96, 72), "JPEG")
    beside = b"".join(
        segment(kind, name + thumbnail)
        for kind, name in (
            (0xE1, b"Exif\x00\x00"),
            (0xED, b"Photoshop"),
            (0xFE, b"<script>"),
        )
    )
    original = PHOTO[:2] + beside + PHOTO[2:] + b"PK\x03\x04" + thumbnail
    clean = clean_image(original, LIMITS, SIDE).jpeg
    found = dict(markers(clean))
    assert set(found) <= NEEDED
    assert found[0xE0] == JFIF
    assert clean.endswith(b"\xff\xd9")
    assert clean.count(b"\xff\xd8") == 1
    assert pixels(clean) == pixels(PHOTO)


def test_tables_that_no_scan_uses_are_cut() -> None:
    hidden = segment(0xDB, b"\x03" + b"secret".ljust(64, b"!"))
    hidden += segment(0xC4, b"\x13" + bytes([6, *[0] * 15]) + b"secret")
    assert b"secret" not in clean_image(PHOTO[:2] + hidden + PHOTO[2:], LIMITS, SIDE).jpeg


def test_the_same_photo_with_other_metadata_is_the_same_photo() -> None:
    told = PHOTO[:2] + segment(0xFE, b"taken by one camera") + PHOTO[2:]
    assert clean_image(told, LIMITS, SIDE) == clean_image(PHOTO, LIMITS, SIDE)


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return pictures.encoded(view(), "JPEG", quality=85, exif=exif.tobytes())


def turned_by_xmp() -> bytes:
    said = b'http://ns.adobe.com/xap/1.0/\x00<x tiff:Orientation="6"/>'
    return PHOTO[:2] + segment(0xE1, said) + PHOTO[2:]


ENCODED_ANEW: dict[str, Callable[[], bytes]] = {
    "turned": turned,
    "turned by XMP": turned_by_xmp,
    "progressive": lambda: pictures.encoded(view(), "JPEG", progressive=True),
    "grey": lambda: pictures.encoded(view().convert("L"), "JPEG"),
    "CMYK": lambda: pictures.encoded(view().convert("CMYK"), "JPEG"),
    "RGB": lambda: pictures.encoded(view(), "JPEG", keep_rgb=True),
    "larger than wanted": lambda: pictures.encoded(view(1_680, 480), "JPEG"),
    "many bytes a pixel": lambda: pictures.noise("JPEG", quality=100),
    "two frames": lambda: PHOTO[:2] + segment(0xC0, b"\x08\x00\x10\x00\x10\x01\x01\x11\x00") + PHOTO[2:],
    "bytes between segments": lambda: PHOTO[:2] + b"hello" + PHOTO[2:],
}


@pytest.mark.parametrize("name", ENCODED_ANEW)
def test_everything_else_is_left_to_the_encoder(name: str) -> None:
    assert photos.kept(ENCODED_ANEW[name](), LIMITS, SIDE) is None


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(PHOTO) - 1), st.binary(max_size=3), st.integers(0, 3)), max_size=6)
)
def test_of_damaged_photos_nothing_but_their_pixels_is_kept(damage: list[tuple[int, bytes, int]]) -> None:
    data = PHOTO
    for at, put, cut in damage:
        data = data[:at] + put + data[at + cut :]
    kept = photos.kept(data, LIMITS, SIDE)
    if kept is None:
        return
    assert {kind for kind, _ in markers(kept.jpeg)} <= NEEDED
    assert pixels(kept.jpeg) == pixels(data)
    assert photos.kept(kept.jpeg, LIMITS, SIDE) == kept


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_whatever_comes_is_read_or_left(data: bytes) -> None:
    assert pixels_only(b"\xff\xd8" + data) is None
