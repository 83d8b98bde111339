"""HEIC and AVIF, in which phones keep photos: decoded by a process of their own, bounded in memory and time.

A header of theirs promises a size that the pictures inside need not keep to, and the decoders are large
programs in C and C++. What hostile bytes make of them ends with that process, which gets no secret. And
only there is x265 (GPL) loaded, which the package that decodes HEIC brings along and decoding never calls.
"""

import io
from enum import StrEnum

from PIL import Image

from chassis.upright import Fault, ImageLimits, NotDecoded, as_rgb, header_fault, turn_upright

_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"mif1"})
_AVIF_BRANDS = frozenset({b"avif"})
_SEQUENCE_BRANDS = frozenset({b"avis", b"msf1", b"hevc", b"hevx", b"hevm", b"hevs"})
_MOST_BRANDS = 32


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


def decoded(data: bytes, kind: Kind, limits: ImageLimits, max_side: int | None) -> Image.Image:
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
