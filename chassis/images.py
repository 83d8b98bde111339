"""Decode untrusted pictures: limits first, orientation applied, metadata removed.

Nothing is decoded before its header has been checked; formats are an allow-list, so that the
decoders of exotic formats never run. What callers send is decoded by processes that can be stopped
(`PhotoDecoders`); HEIC and AVIF by processes everywhere.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image

from chassis.decoding import photos
from chassis.decoding.photos import SIZE
from chassis.decoding.photos import encode_picture as encode_picture
from chassis.decoding.pictures import Fault, Kind, NotDecoded, as_rgb, kind_of, turn_upright
from chassis.decoding.pictures import ImageLimits as ImageLimits
from chassis.decoding.pool import Decoders, Ending, NoReply, OnEnd, Program, Reply, decode_once
from chassis.errors import CorruptImage, ImageTooLarge, LoreglassError, UnsupportedImage
from chassis.resilience.deadlines import Deadline

PROGRAM = Program("chassis.decoding.photos", "photo", most_s=10.0)
_QUALITY = 92
_DAMAGED = "The image is damaged or incomplete."
_REFUSALS = {
    Fault.SHOWS_NOTHING: (UnsupportedImage, "The image is too small or too narrow to show anything."),
    Fault.ANIMATED: (UnsupportedImage, "Animated images are not read; send a still photo."),
    Fault.SEVERAL_PAGES: (UnsupportedImage, "The TIFF has several pages; send one of them as a picture."),
    Fault.CORRUPT: (CorruptImage, _DAMAGED),
    Fault.NO_DECODER: (UnsupportedImage, "HEIC photos cannot be read by this installation; send a JPEG."),
    Fault.UNKNOWN: (UnsupportedImage, "Send a JPEG, PNG, WebP, HEIC, AVIF, GIF, BMP or TIFF image."),
    Fault.TOO_MANY_SCANS: (
        UnsupportedImage,
        "The JPEG is stored in more scans than a photo of its size has; send an ordinary one.",
    ),
}


@dataclass(frozen=True, slots=True)
class CleanImage:
    """An upright RGB JPEG without metadata. `digest`: SHA-256 of the JPEG, hex."""

    jpeg: bytes
    width: int
    height: int
    digest: str


class PhotoDecoders:
    """`clean_image` for untrusted pictures, in processes that are killed when their caller leaves."""

    def __init__(
        self,
        at_once: int,
        on_end: OnEnd = lambda _what, _why: None,
        on_done: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._decoders = Decoders(PROGRAM, at_once, on_end, on_done)
        self.check = self._decoders.check
        self.close = self._decoders.close

    async def clean(self, data: bytes, limits: ImageLimits, max_side: int, deadline: Deadline) -> CleanImage:
        """Return it without metadata, upright, scaled to `max_side`; encoded anew only if it must be.

        Raises what `upright_rgb` raises, `DeadlineExceeded`, and `Overloaded` where no process starts.
        """
        _check_size(data, limits)
        try:
            reply = await self._decoders.run(photos.arguments_of(limits, max_side, _QUALITY), data, deadline)
        except NoReply as error:
            raise _error_of(error) from error
        width, height = _size(reply, limits)
        return _clean(bytes(memoryview(reply.content)[SIZE.size :]), width, height)


def clean_image(data: bytes, limits: ImageLimits, max_side: int) -> CleanImage:
    """Do the same as `PhotoDecoders.clean` in this process. Blocking. Raises what `upright_rgb` raises."""
    _check_size(data, limits)
    if cut := photos.cut_clean(data, limits, max_side):
        return _clean(cut.jpeg, cut.width, cut.height)
    picture = upright_rgb(data, limits, max_side)
    return _clean(encode_picture(picture, _QUALITY), *picture.size)


def _clean(jpeg: bytes, width: int, height: int) -> CleanImage:
    return CleanImage(jpeg, width, height, hashlib.sha256(jpeg).hexdigest())


def upright_rgb(data: bytes, limits: ImageLimits, max_side: int | None) -> Image.Image:
    """The upright picture as RGB, scaled down to `max_side` where given.

    Raises `UnsupportedImage`, `CorruptImage` or `ImageTooLarge`, and `Overloaded` where HEIC or AVIF finds no
    decoder that runs. Blocking.
    """
    _check_size(data, limits)
    try:
        if kind_of(data) in (Kind.HEIC, Kind.AVIF):
            reply = decode_once(PROGRAM, photos.arguments_of(limits, max_side, None), data)
            size = _size(reply, limits)
            return Image.frombytes("RGB", size, memoryview(reply.content)[SIZE.size :])
        return photos.decode(data, limits, max_side)
    except NoReply as error:
        raise _error_of(error) from error
    except NotDecoded as error:
        raise _refusal(error.fault, limits) from error
    except ValueError as error:
        raise CorruptImage(_DAMAGED) from error


def upright(picture: Image.Image, max_side: int | None) -> Image.Image:
    """A decoded picture as `upright_rgb` gives it. Blocking; `picture` stays as it is."""
    copy = picture.copy()
    turn_upright(copy)
    return as_rgb(copy, max_side)


def _check_size(data: bytes, limits: ImageLimits) -> None:
    if not data:
        raise CorruptImage("The image is empty.")
    if len(data) > limits.max_bytes:
        raise ImageTooLarge(f"The image is larger than {limits.max_bytes // 2**20} MiB.")


def _size(reply: Reply, limits: ImageLimits) -> tuple[int, int]:
    """Return the size of the picture in a reply, which is as untrusted as the decoded bytes."""
    if reply.status:
        is_fault = reply.status in list(Fault)
        raise _refusal(Fault(reply.status) if is_fault else Fault.CORRUPT, limits)
    if len(reply.content) < SIZE.size:
        raise CorruptImage(_DAMAGED)
    width, height = SIZE.unpack_from(reply.content)
    if not 0 < width * height <= limits.max_pixels:
        raise CorruptImage(_DAMAGED)
    return width, height


def _error_of(error: NoReply) -> LoreglassError:
    slow = error.ending in (Ending.CPU, Ending.CLOCK)
    return CorruptImage("The image takes too long to decode." if slow else _DAMAGED)


def _refusal(fault: Fault, limits: ImageLimits) -> LoreglassError:
    if fault is Fault.TOO_LARGE:
        most, most_jpeg = limits.max_pixels // 10**6, limits.max_jpeg_pixels // 10**6
        return ImageTooLarge(
            f"The image has more than {most} megapixels. A JPEG that is not progressive may have {most_jpeg}."
        )
    kind, detail = _REFUSALS[fault]
    return kind(detail)
