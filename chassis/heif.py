"""HEIC and AVIF, in which phones keep photos: decoded by a process of their own, bounded in memory and time.

A header of theirs promises a size that the pictures inside need not keep to, and the decoders are large
programs in C and C++. What hostile bytes make of them ends with that process, which gets no secret. And
only there is x265 (GPL) loaded, which the package that decodes HEIC brings along and decoding never calls.
"""

import io
import math
from enum import StrEnum

from PIL import Image

from chassis.upright import Fault, ImageLimits, NotDecoded, as_rgb, header_fault, turn_upright

_HEIC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"mif1"})
_AVIF_BRANDS = frozenset({b"avif"})
_SEQUENCE_BRANDS = frozenset({b"avis", b"msf1", b"hevc", b"hevx", b"hevm", b"hevs"})
_MOST_BRANDS = 32
_PQ, _HLG = 16, 18
"""Transfer characteristics (ITU-T H.273) of HDR: SMPTE ST 2084, and ARIB STD-B67."""
_WHITE_NITS, _PEAK_NITS = 203.0, 1000.0
"""Diffuse white in HDR, and the light of an HLG display (ITU-R BT.2408)."""


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
        transfer = _transfer(picture)
        turn_upright(picture)
        rgb = as_rgb(picture, max_side)
    if transfer in (_PQ, _HLG):
        rgb = rgb.point([_tone(level / 255, transfer) for level in range(256)] * 3)
    return rgb


def _can_heic() -> bool:
    try:
        import pillow_heif
    except ImportError:
        return False
    chosen = pillow_heif.options
    chosen.THUMBNAILS = chosen.DEPTH_IMAGES = chosen.AUX_IMAGES = False  # a gain map is no photo
    pillow_heif.register_heif_opener()
    return True


def _transfer(picture: Image.Image) -> int:
    """Return the transfer characteristics; 0 if there are none, or a colour profile instead."""
    profile = picture.info.get("nclx_profile")
    return 0 if profile is None or "icc_profile" in picture.info else int(profile["transfer_characteristics"])


def _tone(level: float, transfer: int) -> int:
    """The level of sRGB that an HDR level (0..1) looks like; what is brighter than white is compressed."""
    light = _pq_nits(level) if transfer == _PQ else _hlg_nits(level)
    relative, brightest = light / _WHITE_NITS, _PEAK_NITS / _WHITE_NITS
    linear = min(1.0, relative * (1 + relative / brightest**2) / (1 + relative))
    encoded = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return round(255 * encoded)


def _pq_nits(level: float) -> float:
    """SMPTE ST 2084."""
    root = math.pow(level, 1 / 78.84375)
    share = max(0.0, root - 0.8359375) / (18.8515625 - 18.6875 * root)
    return 10_000 * math.pow(share, 1 / 0.1593017578125)


def _hlg_nits(level: float) -> float:
    """ARIB STD-B67, on a display of 1000 nits."""
    bright = (math.exp((level - 0.55991073) / 0.17883277) + 0.28466892) / 12
    scene = level**2 / 3 if level <= 0.5 else bright
    return _PEAK_NITS * math.pow(scene, 1.2)
