"""Hostile picture files are refused by name, cheaply; odd but honest ones are read."""

import io
import resource
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np
import pillow_heif
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from chassis.errors import CorruptImage, ImageTooLarge, LoreglassError, UnsupportedImage
from chassis.images import ImageLimits, clean_image
from chassis.pixels import decode_rgb
from tests.unit.chassis import pictures

pillow_heif.register_heif_opener()  # to write them: what is read is asked for by name

LIMITS = ImageLimits()
RED, BLUE, GREEN, WHITE = (220, 0, 0), (0, 0, 220), (0, 220, 0), (255, 255, 255)


def peak_growth_mib(work: Callable[[], object]) -> float:
    """By how much `work` raises the process's peak memory, in MiB; 0 below an earlier peak."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def close_to(pixel: np.ndarray, color: tuple[int, int, int], tolerance: int = 40) -> bool:
    return bool(np.abs(pixel.astype(int) - color).max() <= tolerance)


def floats() -> bytes:
    return pictures.encoded(Image.fromarray(np.zeros((64, 96), np.float32)), "TIFF")


REFUSED: dict[str, tuple[Callable[[], bytes], type[LoreglassError]]] = {
    "100 megapixels": (pictures.one_bit_bomb, ImageTooLarge),
    "more bytes than the limit": (lambda: b"\xff\xd8" + bytes(LIMITS.max_bytes), ImageTooLarge),
    "4,000 frames": (pictures.long_gif, UnsupportedImage),
    "animated WebP": (lambda: pictures.animation("WEBP"), UnsupportedImage),
    "animated PNG": (lambda: pictures.animation("PNG"), UnsupportedImage),
    "floats": (floats, UnsupportedImage),
    **{
        f"{size}": (partial(pictures.encoded, Image.new("L", size), "PNG"), UnsupportedImage)
        for size in [(1, 65_535), (65_535, 1), (15, 15), (4_000, 40)]
    },
    **{kind: (partial(bytes, data), LoreglassError) for kind, data in pictures.FOREIGN.items()},
}


@pytest.mark.parametrize("what", REFUSED)
def test_oversized_narrow_and_foreign_files_are_refused_by_header(what: str) -> None:
    make, refusal = REFUSED[what]
    data = make()

    def refuse() -> None:
        with pytest.raises(refusal) as refused:
            decode_rgb(data)
        assert isinstance(refused.value, CorruptImage | ImageTooLarge | UnsupportedImage)
        assert "passwd" not in refused.value.detail

    assert peak_growth_mib(refuse) < 64


@pytest.mark.parametrize("name", [b"zTXt", b"iCCP"])
def test_compressed_text_chunk_is_not_unpacked(name: bytes) -> None:
    bomb = pictures.text_bomb(name)

    def refuse_or_read() -> None:
        try:
            decode_rgb(bomb)
        except CorruptImage:
            return

    assert peak_growth_mib(refuse_or_read) < 48


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_a_truncated_file_is_an_error_or_a_picture_at_every_length(kind: str) -> None:
    whole = pictures.noise(kind)
    for length in range(1, len(whole), max(1, len(whole) // 60)):
        try:
            assert decode_rgb(whole[:length]).shape == (48, 64, 3)
        except (CorruptImage, UnsupportedImage):
            continue
    if kind in ("JPEG", "PNG", "WEBP"):
        with pytest.raises(CorruptImage):
            decode_rgb(whole[: len(whole) // 2])


@settings(max_examples=60)
@given(data=st.data(), kind=st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"]))
def test_flipped_bytes_raise_only_declared_errors(data: st.DataObject, kind: str) -> None:
    damaged = bytearray(pictures.noise(kind))
    for _ in range(data.draw(st.integers(1, 12))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        pixels = decode_rgb(bytes(damaged), ImageLimits(max_pixels=1_000_000))
    except (CorruptImage, UnsupportedImage, ImageTooLarge):
        return
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3


@pytest.mark.parametrize(
    ("picture", "kind", "options"),
    [
        (pictures.scene().convert("CMYK"), "JPEG", {"quality": 95}),
        (pictures.scene(), "GIF", {}),
        (pictures.scene(), "TIFF", {"compression": "tiff_lzw"}),
        (pictures.scene().quantize(4), "PNG", {}),
        (pictures.scene().convert("YCbCr"), "JPEG", {"quality": 95, "progressive": True}),
    ],
    ids=["CMYK JPEG", "GIF", "LZW TIFF", "palette PNG", "progressive JPEG"],
)
def test_unusual_valid_pictures_keep_their_colors(
    picture: Image.Image, kind: str, options: dict[str, object]
) -> None:
    pixels = decode_rgb(pictures.encoded(picture, kind, **options))
    assert pixels.shape == (64, 96, 3)
    assert close_to(pixels[32, 20], RED)
    assert close_to(pixels[32, 76], BLUE)


def test_sixteen_bit_colors_are_read_and_transparency_becomes_white() -> None:
    rows = b"".join(b"\x00" + b"\xdc\x00\x00\x00\x00\x00" * 64 for _ in range(32))
    deep = pictures.png(64, 32, pictures.png_chunk(b"IDAT", zlib.compress(rows)), depth=16, color=2)
    assert close_to(decode_rgb(deep)[16, 32], RED)
    clear = pictures.scene().convert("RGBA")
    clear.putalpha(Image.new("L", clear.size, 0))
    assert close_to(decode_rgb(pictures.encoded(clear, "PNG"))[32, 20], WHITE, 0)


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_deep_greys_keep_their_contrast(kind: str) -> None:
    levels = np.tile(np.linspace(1_000, 5_000, 96).astype(np.uint16), (64, 1))
    pixels = decode_rgb(pictures.encoded(Image.fromarray(levels), kind))
    assert pixels[32, 2, 0] < 20
    assert 100 < pixels[32, 48, 0] < 155
    assert pixels[32, 93, 0] > 235


def quarters(pixels: np.ndarray) -> tuple[str, str, str, str]:
    """The colours of the corners: top left, top right, bottom left, bottom right."""
    names = {RED: "red", BLUE: "blue", GREEN: "green", WHITE: "white"}
    height, width, _ = pixels.shape
    places = [(height * row // 4, width * column // 4) for row in (1, 3) for column in (1, 3)]
    results = [
        min(names, key=lambda each: np.abs(pixels[place].astype(int) - each).sum()) for place in places
    ]
    top_left, top_right, bottom_left, bottom_right = (names[each] for each in results)
    return top_left, top_right, bottom_left, bottom_right


SEEN_AS = {
    1: ("red", "blue", "green", "white"),
    2: ("blue", "red", "white", "green"),
    3: ("white", "green", "blue", "red"),
    4: ("green", "white", "red", "blue"),
    5: ("red", "green", "blue", "white"),
    6: ("green", "red", "white", "blue"),
    7: ("white", "blue", "green", "red"),
    8: ("blue", "white", "red", "green"),
}
"""Of stored pixels red, blue, green, white: row 0 and column 0 are seen where Exif 2.3 (4.6.4) says."""


@pytest.mark.parametrize(
    ("kind", "orientation"),
    [("JPEG", each) for each in SEEN_AS]
    + [(kind, 5) for kind in ("MPO", "PNG", "WEBP", "TIFF", "HEIF", "AVIF")],
)
def test_orientation_is_applied_once(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = pictures.encoded(pictures.four_colors(), kind, quality=90, exif=exif.tobytes())
    for picture in (data, clean_image(data, LIMITS, max_side=1600).jpeg):
        pixels = decode_rgb(picture)
        assert pixels.shape[:2] == ((64, 96) if orientation <= 4 else (96, 64))
        assert quarters(pixels) == SEEN_AS[orientation]


def test_metadata_is_removed() -> None:
    original = pictures.located_jpeg()
    assert pictures.MARKER in original
    clean = clean_image(original, LIMITS, max_side=1600)
    with Image.open(io.BytesIO(clean.jpeg)) as picture:
        assert not picture.getexif()
        assert set(picture.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert b"GPS" not in clean.jpeg
    assert b"Exif" not in clean.jpeg


@pytest.mark.parametrize("make", [pictures.looping_exif_jpeg, pictures.looping_tiff])
def test_looping_directories_end(make: Callable[[], bytes]) -> None:
    try:
        clean = clean_image(make(), LIMITS, max_side=1600)
    except (CorruptImage, UnsupportedImage):
        return
    assert (clean.width, clean.height) == (96, 64)


@pytest.mark.slow
def test_a_large_deep_picture_is_decoded_in_bounded_memory() -> None:
    deep = Image.fromarray(np.zeros((5_000, 5_000), np.uint16))
    data = pictures.encoded(deep, "PNG", compress_level=1)
    deep.close()
    assert peak_growth_mib(lambda: clean_image(data, LIMITS, max_side=1600)) < 260


@pytest.mark.parametrize(
    ("options", "max_side"),
    [
        ({"progressive": True}, 100),  # the decoder keeps all coefficients of a progressive JPEG in memory
        ({}, None),
        ({}, 1_500),
    ],
    ids=["progressive", "at full size", "hardly scaled"],
)
def test_large_jpeg_is_read_if_its_decoder_scales_it(
    options: dict[str, object], max_side: int | None
) -> None:
    picture = Image.new("RGB", (1_600, 1_200), RED)
    limits = ImageLimits(max_pixels=500_000, max_jpeg_pixels=2_000_000)
    with pytest.raises(ImageTooLarge, match="not progressive"):
        decode_rgb(pictures.encoded(picture, "JPEG", **options), limits, max_side)
    assert decode_rgb(pictures.encoded(picture, "JPEG"), limits, 100).shape == (75, 100, 3)
    assert decode_rgb(pictures.encoded(pictures.scene(), "PNG"), limits, 1_000).shape == (64, 96, 3)


def test_multi_page_tiff_is_refused_and_a_thumbnail_ignored() -> None:
    pages, thumbnail = io.BytesIO(), io.BytesIO()
    scene, small = pictures.scene(), pictures.scene().resize((24, 16))
    scene.save(pages, "TIFF", save_all=True, append_images=[scene])
    small.encoderinfo = {"tiffinfo": {254: 1}}  # type: ignore[attr-defined]
    scene.save(thumbnail, "TIFF", save_all=True, append_images=[small])
    with pytest.raises(UnsupportedImage, match="several pages"):
        decode_rgb(pages.getvalue())
    assert decode_rgb(thumbnail.getvalue()).shape == (64, 96, 3)


@pytest.mark.parametrize(("ink", "behind"), [(255, 0), (0, 255), (200, 0), (90, 255)])
@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparent_background_contrasts_with_text(mode: str, ink: int, behind: int) -> None:
    print_alone = Image.new("LA", (96, 64), (ink, 0))
    print_alone.paste((ink, 255), (20, 20, 60, 30))
    pixels = decode_rgb(pictures.encoded(print_alone.convert(mode), "PNG"))
    assert set(pixels[25, 40]) == {ink}
    assert set(pixels[5, 5]) == {behind}
