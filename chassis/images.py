"""Hostile bytes to pixels: limits first, orientation applied, metadata gone.

Nothing is decoded before its header has been checked; formats are an allow-list, so that the
decoders of exotic formats never run.
"""

import hashlib
import io
from dataclasses import dataclass
from typing import cast

from PIL import Image, ImageMath, ImageOps, UnidentifiedImageError, _imaging

from chassis.errors import CorruptImage, ImageTooLarge, LoreglassError, UnsupportedImage

Image.MAX_IMAGE_PIXELS = None  # ImageLimits is checked on the header instead of Pillow's global
# Without them Pillow gives back each picture's memory and has the next one's zeroed: half of a photo's time.
_imaging.set_blocks_max(4)  # of 16 MiB

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")  # MPO opens as JPEG
_STILL_FORMATS = {"MPO"}  # phones store a preview beside the photo; the first picture is the photo
_HIGH_DEPTH_MODES = {"I", "I;16", "I;16B", "I;16L", "F"}
_BAND_ROWS = 256
_LARGEST_FLOAT = 3.4028234663852886e38


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What will be decoded: bytes, pixels, and the shorter side in pixels."""

    max_bytes: int = 20 * 2**20
    max_pixels: int = 50_000_000
    min_side: int = 16
    max_aspect: float = 40.0


@dataclass(frozen=True, slots=True)
class CleanImage:
    """An upright RGB JPEG without metadata. `digest`: SHA-256 of the JPEG, hex."""

    jpeg: bytes
    width: int
    height: int
    digest: str


def clean_image(data: bytes, limits: ImageLimits, max_side: int, quality: int = 92) -> CleanImage:
    """Decode, turn upright, drop all metadata, scale down to `max_side`, re-encode. Blocking."""
    picture = upright_rgb(data, limits, max_side)
    jpeg = encoded(picture, quality)
    return CleanImage(jpeg, picture.width, picture.height, hashlib.sha256(jpeg).hexdigest())


def encoded(picture: Image.Image, quality: int) -> bytes:
    """As JPEG."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def upright_rgb(data: bytes, limits: ImageLimits, max_side: int | None) -> Image.Image:
    """The upright picture as RGB, scaled down to `max_side` where given.

    Raises `UnsupportedImage`, `CorruptImage` or `ImageTooLarge`. Blocking.
    """
    if not data:
        raise CorruptImage("The image is empty.")
    if len(data) > limits.max_bytes:
        raise ImageTooLarge(f"The image is larger than {limits.max_bytes // 2**20} MiB.")
    try:
        with _open(data, limits) as picture:
            if max_side:
                picture.draft("RGB", (max_side, max_side))  # JPEG only: decode at 1/2, 1/4 or 1/8
            return _to_rgb(_turn_upright(picture), max_side)
    except LoreglassError:
        raise
    except UnidentifiedImageError as error:
        raise UnsupportedImage("Send a JPEG, PNG, WebP, GIF, BMP or TIFF image.") from error
    except Exception as error:
        raise CorruptImage("The image is damaged or incomplete.") from error


def upright(picture: Image.Image, max_side: int | None) -> Image.Image:
    """A decoded picture as `upright_rgb` gives it. Blocking; `picture` stays as it is."""
    return _to_rgb(_turn_upright(picture), max_side)


def _open(data: bytes, limits: ImageLimits) -> Image.Image:
    picture = Image.open(io.BytesIO(data), formats=_FORMATS)
    width, height = picture.size
    if width * height > limits.max_pixels:
        raise ImageTooLarge(f"The image has more than {limits.max_pixels // 10**6} megapixels.")
    shorter, longer = sorted((width, height))
    if shorter < limits.min_side or longer > shorter * limits.max_aspect:
        raise UnsupportedImage("The image is too small or too narrow to show anything.")
    if picture.format not in _STILL_FORMATS and getattr(picture, "is_animated", False):
        raise UnsupportedImage("Animated images are not read; send a still photo.")
    return picture


def _turn_upright(picture: Image.Image) -> Image.Image:
    picture.load()
    try:
        return ImageOps.exif_transpose(picture)
    except Exception:  # noqa: BLE001 - malformed EXIF: the pixels are fine, the tag is not
        return picture.copy()


def _to_rgb(picture: Image.Image, max_side: int | None) -> Image.Image:
    if picture.mode in _HIGH_DEPTH_MODES:
        picture = _to_8_bit(picture)
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        layer = picture.convert("RGBA")
        picture = Image.new("RGB", layer.size, "white")
        picture.paste(layer, mask=layer.getchannel("A"))
    if max_side and max(picture.size) > max_side:
        picture = picture.convert("RGB") if picture.mode != "RGB" else picture
        picture.thumbnail((max_side, max_side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    rgb = picture.convert("RGB")
    rgb.info.clear()
    return rgb


def _to_8_bit(picture: Image.Image) -> Image.Image:
    """Stretched to 0..255, a band of rows at a time: whole, 50 megapixels of floats take a gigabyte.

    By Pillow's own means: the gateway, which cleans every photo, is spared numpy and its 70 MB for it.
    """
    tops = range(0, picture.height, _BAND_ROWS)
    extremes = [cast(tuple[float, float], _levels(picture, top).getextrema()) for top in tops]
    low, high = min(least for least, _ in extremes), max(most for _, most in extremes)
    scale = 255.0 / (high - low) if high > low else 0.0
    stretched = Image.new("L", picture.size)
    for top in tops:
        levels = _levels(picture, top).point(lambda value: value * scale - low * scale)
        stretched.paste(levels.convert("L"), (0, top))
    return stretched


def _levels(picture: Image.Image, top: int) -> Image.Image:
    """The band of rows from `top` on, 32 bits each; what is no number counts as 0.

    Whole numbers stay whole: close together and far from 0, they would be one and the same float.
    """
    band = picture.crop((0, top, picture.width, min(top + _BAND_ROWS, picture.height)))
    if band.mode != "F":
        return band.convert("I")
    is_number = ImageMath.lambda_eval(lambda given: (abs(given["v"]) <= _LARGEST_FLOAT) * 255, v=band)
    kept = Image.new("F", band.size)
    kept.paste(band, mask=is_number.convert("L").convert("1"))
    return kept
