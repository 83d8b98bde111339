"""Phones' containers: the picture that is meant, upright, in sRGB; hostile ones end with their process."""

import io
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from chassis import images
from chassis.decoding import pool
from chassis.errors import CorruptImage, ImageTooLarge, UnsupportedImage
from chassis.images import ImageLimits
from chassis.pixels import decode_rgb
from tests.unit.chassis import pictures

pillow_heif.register_heif_opener()

FORMATS = ["HEIF", "AVIF"]


def patched(data: bytes, box: bytes, offset: int, value: bytes) -> bytes:
    """With `value` at `offset` behind every name of that box."""
    changed, at = bytearray(data), data.find(box)
    assert at > 0
    while at > 0:
        changed[at + len(box) + offset : at + len(box) + offset + len(value)] = value
        at = data.find(box, at + 1)
    return bytes(changed)


def sized(width: int, height: int) -> bytes:
    return width.to_bytes(4) + height.to_bytes(4)


def outcome(data: bytes, limits: ImageLimits | None = None) -> str:
    """The size, or the refusal's name; anything else escapes."""
    try:
        return str(decode_rgb(data, limits, max_side=64).shape)
    except (CorruptImage, UnsupportedImage, ImageTooLarge) as refused:
        return type(refused).__name__


@pytest.mark.parametrize("kind", FORMATS)
def test_phone_photos_keep_their_colors_and_are_scaled(kind: str) -> None:
    data = pictures.encoded(pictures.scene(512, 256), kind, quality=90)
    pixels = decode_rgb(data, max_side=128)
    assert pixels.shape == (64, 128, 3)
    assert np.abs(pixels[32, 20].astype(int) - (220, 0, 0)).max() < 16
    assert np.abs(pixels[32, 100].astype(int) - (0, 0, 220)).max() < 16
    assert decode_rgb(data).shape == (256, 512, 3)


def test_the_exif_beside_a_turned_heic_does_not_turn_it_again() -> None:
    """Phones write both; the container's own turn is the one that holds (ISO/IEC 23008-12)."""
    exif = Image.Exif()
    exif[0x0112] = 6
    data = pictures.encoded(pictures.scene(), "HEIF", exif=exif.tobytes(), quality=90)
    assert b"irot" in data
    written = Image.Exif()
    written.load(data[data.index(b"Exif\x00\x00", data.index(b"mdat")) :])
    assert written[0x0112] == 6
    pixels = decode_rgb(data)
    assert pixels.shape == (96, 64, 3)
    assert pixels[20, 32, 0] > 190 < pixels[76, 32, 2]


def test_ten_bit_photos_become_eight_bit() -> None:
    ramp = np.tile(np.linspace(0, 65535, 96).astype(np.uint16), (64, 1))
    picture = pillow_heif.from_bytes("RGB;16", (96, 64), np.repeat(ramp[..., None], 3, axis=2).tobytes())
    buffer = io.BytesIO()
    picture.save(buffer, quality=-1, matrix_coefficients=0, chroma=444, full_range_flag=1)
    pixels = decode_rgb(buffer.getvalue())
    assert pixels.dtype == np.uint8
    assert np.abs(pixels[32, :, 0].astype(int) - np.linspace(0, 255, 96)).max() <= 3


@pytest.mark.parametrize("brand", [b"msf1", b"hevc", b"avis"])
def test_image_sequences_and_videos_are_refused_without_a_process(
    brand: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    data = patched(pictures.encoded(pictures.scene(), "HEIF"), b"ftyp", 0, brand)
    with pytest.raises(UnsupportedImage, match="Animated"):
        decode_rgb(data)
    film = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isommp41" + b"\x00" * 64
    with pytest.raises(UnsupportedImage, match="HEIC, AVIF"):
        decode_rgb(film)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_header_beyond_the_limits_is_refused_undecoded(kind: str) -> None:
    data = pictures.encoded(pictures.scene(), kind)
    with pytest.raises(ImageTooLarge, match="52 megapixels"):
        decode_rgb(patched(data, b"ispe", 4, sized(8_000, 8_000)))
    with pytest.raises(UnsupportedImage, match="too narrow"):
        decode_rgb(pictures.encoded(Image.new("RGB", (1_400, 32)), kind))


@pytest.mark.parametrize("line", ["kill -SEGV $$", "exec sleep 30"])
def test_a_decoder_that_crashes_or_never_ends_does_not_stop_the_process(
    line: str, monkeypatch: pytest.MonkeyPatch, python: Callable[[str], None]
) -> None:
    python(line)
    monkeypatch.setattr(images, "PROGRAM", replace(images.PROGRAM, most_s=0.2))
    assert outcome(pictures.encoded(pictures.scene(), "HEIF")) == "CorruptImage"


def test_heic_without_its_package_is_refused_with_a_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pillow_heif.py").write_text("raise ImportError\n")
    data = pictures.encoded(pictures.scene(), "HEIF")
    monkeypatch.setattr(pool, "_PATHS", (str(tmp_path), *pool._PATHS))
    with pytest.raises(UnsupportedImage, match="send a JPEG"):
        decode_rgb(data)


@pytest.mark.parametrize("kind", FORMATS)
def test_flipped_bytes_raise_only_declared_errors(kind: str) -> None:
    chance = random.Random(11)
    whole = pictures.noise(kind)
    for _ in range(3):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
        outcome(bytes(damaged), ImageLimits(max_pixels=1_000_000))
