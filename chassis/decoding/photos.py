"""Photos to pixels, of Pillow alone: in decoder processes, and in services with what the gateway let through.

python -m chassis.decoding.photos     # see `program`; arguments of a job: `arguments_of`
"""

import io
import re
import struct
from collections.abc import Sequence

from PIL import Image, UnidentifiedImageError, _imaging

from chassis.decoding import jpeg
from chassis.decoding.pictures import (
    Fault,
    ImageLimits,
    NotDecoded,
    as_rgb,
    decode_phone_format,
    header_fault,
    is_upright,
    kind_of,
    size_fault,
    turn_upright,
)
from chassis.decoding.program import Bounds, Result, serve

MOST_SCANS = 64
"""Of a progressive JPEG. libjpeg's own script (jcparam.c) has 10 for colour, 18 for CMYK; mozjpeg tries 64 to
choose from. Each scan costs a pass over all pixels, and 75 bytes."""
MOST_WHOLE_SCANS = 18
"""Scans of the largest picture that is decoded; 70 ms each at 49 megapixels."""
CPU_S = 5.0
"""Of a process for one photo: 48 megapixels take 0.3 to 2.5."""
MEMORY_BYTES = 896 << 20
"""Of a process: 48 megapixels take 360 MB from HEIC (560 with 10 bits and alpha), 450 from AVIF, 470 from PNG
of 16 bits and alpha, 780 from WebP, whose decoder keeps three copies."""
SIZE = struct.Struct(">II")
"""Width and height, before the pixels or the JPEG in a reply."""

_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")  # MPO opens as JPEG
_SCAN = b"\xff\xda"
_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")
_END, _START_OF_SCAN, _ALONE = 0xD9, 0xDA, frozenset((0x01, 0xD8))
_OPEN_FILES = 32

Image.MAX_IMAGE_PIXELS = None  # ImageLimits is checked on the header instead of Pillow's global
# Without them Pillow gives back each picture's memory and has the next one's zeroed: half of a photo's time.
_imaging.set_blocks_max(4)  # of 16 MiB


def decode(data: bytes, limits: ImageLimits, max_side: int | None) -> Image.Image:
    """The upright picture as RGB, scaled down to `max_side` where given. Blocking.

    Raises `NotDecoded`. HEIC and AVIF are for processes of their own: see `pictures`.
    """
    try:
        if (kind := kind_of(data)) is not None:
            return decode_phone_format(data, kind, limits, max_side)
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            if fault := _jpeg_fault(picture, data, limits):
                raise NotDecoded(fault)
            if max_side:
                picture.draft("RGB", (max_side, max_side))  # JPEG only: decode at 1/2, 1/4 or 1/8
            if fault := header_fault(picture, limits):
                raise NotDecoded(fault)
            if any(tile.codec_name in Image.DECODERS for tile in picture.tile):
                raise NotDecoded(Fault.UNKNOWN)  # written in Python: BMP's run lengths take 5 s for 20 MB
            turn_upright(picture)
            return as_rgb(picture, max_side)
    except NotDecoded:
        raise
    except UnidentifiedImageError as error:
        raise NotDecoded(Fault.UNKNOWN) from error
    except Exception as error:
        raise NotDecoded(Fault.CORRUPT) from error


def cut_clean(data: bytes, limits: ImageLimits, max_side: int) -> jpeg.Cut | None:
    """The picture as it was sent, without anything beside it; None where it has to be decoded. Blocking."""
    whole = jpeg.cut(data, max_side)
    if whole is None or size_fault((whole.width, whole.height), limits) is not None:
        return None
    if whole.has_app1 and not _stands_upright(data):
        return None
    return whole if jpeg.is_whole(whole) else None


def _stands_upright(data: bytes) -> bool:
    """Return whether the photo is upright; false if its metadata cannot be read: `decode` judges that."""
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as picture:
            return is_upright(picture)
    except Exception:  # noqa: BLE001 - as `decode`, whatever Pillow makes of it
        return False


def _jpeg_fault(picture: Image.Image, data: bytes, limits: ImageLimits) -> Fault | None:
    """Return why a JPEG of this size and so many scans is not decoded, at whatever scale.

    The decoder keeps all coefficients of a picture in several scans: 600 MB at 200 megapixels.
    """
    if picture.format not in ("JPEG", "MPO"):
        return None
    pixels = picture.width * picture.height
    if pixels > limits.max_pixels:
        return Fault.TOO_LARGE if pixels > limits.max_jpeg_pixels or scans(data, 1) > 1 else None
    most = min(MOST_SCANS, MOST_WHOLE_SCANS * limits.max_pixels // pixels)
    return Fault.TOO_MANY_SCANS if scans(data, most) > most else None


def scans(data: bytes, few: int = MOST_SCANS) -> int:
    """Count the scans of a JPEG's first picture; up to `few`, places that may be scans are counted.

    A scan's two bytes cannot occur in what is coded (T.81, B.1.1.2), so that there are at most as many scans
    as places. Only where these are many is it walked from marker to marker, past thumbnails and profiles.
    """
    most = data.count(_SCAN)
    if most <= few:
        return most
    count, at = 0, 0
    while (marker := _MARKER.search(data, at)) is not None:
        kind, at = marker[1][0], marker.end()
        if kind == _END:
            break
        if kind not in _ALONE:
            at += int.from_bytes(data[at : at + 2])
        count += kind == _START_OF_SCAN
    return count


def arguments_of(limits: ImageLimits, max_side: int | None, quality: int | None) -> list[str]:
    """Return a job's arguments. Without `quality` the reply has pixels, else a JPEG."""
    bounds = (limits.max_bytes, limits.max_pixels, limits.max_jpeg_pixels, limits.min_side, limits.max_aspect)
    return [str(each) for each in (*bounds, max_side or 0, quality or 0)]


def encode_picture(picture: Image.Image, quality: int) -> bytes:
    """Return the picture as JPEG."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _handle(arguments: Sequence[bytes], data: bytes) -> Result:
    size, pixels, jpeg_pixels, side, aspect, max_side, quality = arguments
    limits = ImageLimits(int(size), int(pixels), int(jpeg_pixels), int(side), float(aspect))
    try:
        if int(quality) and (cut := cut_clean(data, limits, int(max_side))):
            return 0, (SIZE.pack(cut.width, cut.height), cut.jpeg)
        picture = decode(data, limits, int(max_side) or None)
        content = encode_picture(picture, int(quality)) if int(quality) else picture.tobytes()
    except NotDecoded as error:
        return error.fault, ()
    except Exception:  # noqa: BLE001 - whatever it is, there is no picture
        return Fault.CORRUPT, ()
    return 0, (SIZE.pack(*picture.size), content)


def _bounds() -> Bounds:
    import resource

    return Bounds(CPU_S, ((resource.RLIMIT_DATA, MEMORY_BYTES), (resource.RLIMIT_NOFILE, _OPEN_FILES)))


if __name__ == "__main__":
    Image.preinit()
    serve(_handle, _bounds())
