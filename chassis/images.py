"""Hostile bytes to pixels: limits first, orientation applied, metadata gone.

Nothing is decoded before its header has been checked; formats are an allow-list, so that the
decoders of exotic formats never run. HEIC and AVIF are decoded by a process of their own.
"""

import hashlib
import io
from dataclasses import dataclass

from PIL import Image, UnidentifiedImageError, _imaging

from chassis import heif
from chassis.errors import CorruptImage, DeadlineExceeded, ImageTooLarge, LoreglassError, UnsupportedImage
from chassis.resilience.deadlines import Deadline
from chassis.upright import Fault, as_rgb, header_fault, turn_upright
from chassis.upright import ImageLimits as ImageLimits

Image.MAX_IMAGE_PIXELS = None  # ImageLimits is checked on the header instead of Pillow's global
# Without them Pillow gives back each picture's memory and has the next one's zeroed: half of a photo's time.
_imaging.set_blocks_max(4)  # of 16 MiB

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")  # MPO opens as JPEG
_REFUSALS = {
    Fault.SHOWS_NOTHING: (UnsupportedImage, "The image is too small or too narrow to show anything."),
    Fault.ANIMATED: (UnsupportedImage, "Animated images are not read; send a still photo."),
    Fault.CORRUPT: (CorruptImage, "The image is damaged or incomplete."),
    Fault.NO_DECODER: (UnsupportedImage, "HEIC photos cannot be read by this installation; send a JPEG."),
}


@dataclass(frozen=True, slots=True)
class CleanImage:
    """An upright RGB JPEG without metadata. `digest`: SHA-256 of the JPEG, hex."""

    jpeg: bytes
    width: int
    height: int
    digest: str


def clean_image(
    data: bytes, limits: ImageLimits, max_side: int, quality: int = 92, deadline: Deadline | None = None
) -> CleanImage:
    """Decode, turn upright, drop all metadata, scale down to `max_side`, re-encode. Blocking.

    Raises what `upright_rgb` raises.
    """
    picture = upright_rgb(data, limits, max_side, deadline)
    jpeg = encoded(picture, quality)
    return CleanImage(jpeg, picture.width, picture.height, hashlib.sha256(jpeg).hexdigest())


def encoded(picture: Image.Image, quality: int) -> bytes:
    """As JPEG."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def upright_rgb(
    data: bytes, limits: ImageLimits, max_side: int | None, deadline: Deadline | None = None
) -> Image.Image:
    """The upright picture as RGB, scaled down to `max_side` where given.

    Raises `UnsupportedImage`, `CorruptImage` or `ImageTooLarge`, and `DeadlineExceeded` where the decoder is
    a process that `deadline` ends. Blocking.
    """
    if not data:
        raise CorruptImage("The image is empty.")
    if len(data) > limits.max_bytes:
        raise ImageTooLarge(f"The image is larger than {limits.max_bytes // 2**20} MiB.")
    try:
        if (kind := heif.kind_of(data)) is not None:
            return _by_process(data, kind, limits, max_side, deadline)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            if fault := header_fault(picture, limits):
                raise heif.NotDecoded(fault)
            if max_side:
                picture.draft("RGB", (max_side, max_side))  # JPEG only: decode at 1/2, 1/4 or 1/8
            turn_upright(picture)
            return as_rgb(picture, max_side)
    except DeadlineExceeded:
        raise
    except heif.NotDecoded as error:
        raise _refusal(error.fault, limits) from error
    except UnidentifiedImageError as error:
        raise UnsupportedImage("Send a JPEG, PNG, WebP, HEIC, AVIF, GIF, BMP or TIFF image.") from error
    except Exception as error:
        raise CorruptImage("The image is damaged or incomplete.") from error


def _by_process(
    data: bytes, kind: heif.Kind, limits: ImageLimits, max_side: int | None, deadline: Deadline | None
) -> Image.Image:
    left_s = heif.WALL_S if deadline is None else deadline.remaining_s()
    try:
        return heif.decoded(data, kind, limits, max_side, min(heif.WALL_S, left_s))
    except TimeoutError as error:
        if left_s < heif.WALL_S:
            raise DeadlineExceeded("The time was over before the photo was decoded.") from error
        raise


def upright(picture: Image.Image, max_side: int | None) -> Image.Image:
    """A decoded picture as `upright_rgb` gives it. Blocking; `picture` stays as it is."""
    copy = picture.copy()
    turn_upright(copy)
    return as_rgb(copy, max_side)


def _refusal(fault: Fault, limits: ImageLimits) -> LoreglassError:
    if fault is Fault.TOO_LARGE:
        return ImageTooLarge(f"The image has more than {limits.max_pixels // 10**6} megapixels.")
    kind, detail = _REFUSALS[fault]
    return kind(detail)
