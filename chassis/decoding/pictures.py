"""Pictures that Pillow opens to what everything here reads: upright, RGB of 8 bits, small enough.

Of Pillow alone, so that a process that does nothing else is quickly there.

HEIC and AVIF, in which phones keep photos, are decoded by a process of their own only, bounded in memory and
time. A header of theirs promises a size that the pictures inside need not keep to, and the decoders are large
programs in C and C++. What hostile bytes make of them ends with that process, which gets no secret. And only
there is x265 (GPL) loaded, which the package that decodes HEIC brings along and decoding never calls.
"""

import io
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import cast

from PIL import ExifTags, Image, ImageChops, ImageOps

_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"mif1"})
_AVIF_BRANDS = frozenset({b"avif"})
_SEQUENCE_BRANDS = frozenset({b"avis", b"msf1", b"hevc", b"hevx", b"hevm", b"hevs"})
_MOST_BRANDS = 32
_HIGH_DEPTH_MODES = {"I", "I;16", "I;16B", "I;16L"}
_STILL_FORMATS = {
    "MPO",
    "HEIF",
}  # phones store further pictures beside the photo: the first, or the primary, is it
_SUBFILE_TYPE, _REDUCED = 254, 1
_SAMPLE = (256, 256)
_BRIGHT = 160
"""Mean luminance of the opaque pixels, of 255, from which the background becomes black."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """Limits of a picture: bytes, pixels, the shorter side in pixels, and the ratio of the sides.

    `max_jpeg_pixels`: of a JPEG in one scan that is wanted smaller: it is decoded at ½, ¼ or ⅛ of its size,
    and then has at most `max_pixels`. Phones take up to 200 megapixels.
    """

    max_bytes: int = 30 * 2**20
    max_pixels: int = 52_000_000
    max_jpeg_pixels: int = 201_000_000
    min_side: int = 16
    max_aspect: float = 40.0


class Fault(IntEnum):
    """The reason why a picture is not decoded. The numbers are the status of a decoder's reply."""

    TOO_LARGE = 3
    SHOWS_NOTHING = 4
    ANIMATED = 5
    CORRUPT = 6
    NO_DECODER = 7
    UNKNOWN = 8
    TOO_MANY_SCANS = 9
    SEVERAL_PAGES = 10


class NotDecoded(Exception):
    """The decoder gave no picture."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.name)
        self.fault = fault


def header_fault(picture: Image.Image, limits: ImageLimits) -> Fault | None:
    """Return why a picture that is opened and not loaded is not decoded; None if it may be."""
    if fault := size_fault(picture.size, limits):
        return fault
    if picture.mode == "F":
        return Fault.UNKNOWN
    if picture.format in _STILL_FORMATS or not getattr(picture, "is_animated", False):
        return None
    if picture.format != "TIFF":
        return Fault.ANIMATED
    return Fault.SEVERAL_PAGES if _has_pages(picture) else None


def _has_pages(tiff: Image.Image) -> bool:
    """Return whether more follows than smaller copies of the first picture. It stays at the first."""
    try:
        for page in range(1, tiff.n_frames):  # type: ignore[attr-defined]
            tiff.seek(page)
            if not tiff.tag_v2.get(_SUBFILE_TYPE, 0) & _REDUCED:  # type: ignore[attr-defined]
                return True
        return False
    finally:
        tiff.seek(0)


def size_fault(size: tuple[int, int], limits: ImageLimits) -> Fault | None:
    """Return why a picture of this width and height is not decoded; None if it may be."""
    width, height = size
    if width * height > limits.max_pixels:
        return Fault.TOO_LARGE
    shorter, longer = sorted((width, height))
    if shorter < limits.min_side or longer > shorter * limits.max_aspect:
        return Fault.SHOWS_NOTHING
    return None


def is_upright(picture: Image.Image) -> bool:
    """Return whether `turn_upright` would leave it as it is; not where its EXIF is malformed."""
    try:
        return bool(picture.getexif().get(ExifTags.Base.Orientation, 1) == 1)
    except Exception:  # noqa: BLE001 - as there
        return False


def turn_upright(picture: Image.Image) -> None:
    """Turn the picture as its EXIF says, in place: a copy of 50 megapixels is 150 MB."""
    picture.load()
    try:
        ImageOps.exif_transpose(picture, in_place=True)
    except Exception:  # noqa: BLE001 - malformed EXIF: the pixels are fine, the tag is not
        return


def as_rgb(picture: Image.Image, max_side: int | None) -> Image.Image:
    """Eight bits a channel, scaled down to `max_side` where given; may spoil `picture`.

    Transparent parts become white, or black if the rest is bright.
    """
    if picture.mode in _HIGH_DEPTH_MODES:
        picture = _to_8_bit(picture)
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        picture = picture if picture.mode == "RGBA" else picture.convert("RGBA")
        transparent = ImageChops.invert(picture.getchannel("A"))  # no copy of the picture: 400 MB less
        picture.paste(_background(picture), mask=transparent)
    if max_side and max(picture.size) > max_side:
        picture = picture.convert("RGB") if picture.mode != "RGB" else picture
        picture.thumbnail((max_side, max_side), Image.Resampling.LANCZOS, reducing_gap=2.0)
    rgb = picture.convert("RGB")
    rgb.info.clear()
    return rgb


def _background(picture: Image.Image) -> str:
    sample = picture.resize(_SAMPLE, Image.Resampling.NEAREST)
    opaque = sample.getchannel("A").point(lambda alpha: 255 if alpha > 127 else 0)
    levels = sample.convert("L").histogram(opaque)
    bright = sum(level * count for level, count in enumerate(levels)) > _BRIGHT * sum(levels)
    return "black" if bright else "white"


def _to_8_bit(picture: Image.Image) -> Image.Image:
    """Stretch grey levels of 16 bits to 0..255.

    By Pillow's own means: the gateway, which cleans every photo, is spared numpy and its 70 MB for it.
    """
    levels = picture.convert("I")
    low, high = cast(tuple[int, int], levels.getextrema())
    scale = 255.0 / (high - low) if high > low else 0.0
    return levels.point([round(min(255.0, max(0.0, (level - low) * scale))) for level in range(1 << 16)], "L")


class Kind(StrEnum):
    """Pillow's name of a format; a sequence is none that is decoded."""

    HEIC = "HEIF"
    AVIF = "AVIF"
    SEQUENCE = "sequence"


def kind_of(data: bytes) -> Kind | None:
    """Return the format that the file's first box names; None for another one."""
    if data[4:8] != b"ftyp":
        return None
    end = min(int.from_bytes(data[:4]), 16 + 4 * _MOST_BRANDS, len(data))
    brands = {data[8:12], *(data[at : at + 4] for at in range(16, end, 4))}
    if data[8:12] in _SEQUENCE_BRANDS:
        return Kind.SEQUENCE
    if brands & _AVIF_BRANDS:
        return Kind.AVIF
    return Kind.HEIC if brands & _HEIC_BRANDS else None


def decode_phone_format(data: bytes, kind: Kind, limits: ImageLimits, max_side: int | None) -> Image.Image:
    """The upright picture as RGB, scaled down to `max_side` where given. In a decoder's process only.

    Raises `NotDecoded`, or whatever the decoder raises.
    """
    if kind is Kind.SEQUENCE:
        raise NotDecoded(Fault.ANIMATED)
    if kind is Kind.HEIC and not _can_heic():
        raise NotDecoded(Fault.NO_DECODER)
    with Image.open(io.BytesIO(data), formats=(kind.value,)) as picture:
        if fault := header_fault(picture, limits):
            raise NotDecoded(fault)
        turn_upright(picture)
        return as_rgb(picture, max_side)


def _can_heic() -> bool:
    try:
        import pillow_heif
    except ImportError:
        return False
    chosen = pillow_heif.options
    chosen.THUMBNAILS = chosen.DEPTH_IMAGES = chosen.AUX_IMAGES = False  # a gain map is no photo
    pillow_heif.register_heif_opener()
    return True
