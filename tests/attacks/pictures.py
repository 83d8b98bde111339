"""Pictures in every format at hand, small, and what would be done to them."""

import io
import random
import struct
import zlib
from functools import cache

import numpy as np
from PIL import Image

from tests.attacks.words import damaged
from tests.unit.chassis import pictures

_SAVED: dict[str, tuple[str, str, dict[str, object]]] = {
    "jpeg": ("RGB", "JPEG", {}),
    "jpeg-progressive": ("RGB", "JPEG", {"progressive": True}),
    "jpeg-grey": ("L", "JPEG", {}),
    "jpeg-cmyk": ("CMYK", "JPEG", {}),
    "jpeg-444": ("RGB", "JPEG", {"subsampling": 0, "quality": 98}),
    "jpeg-restarts": ("RGB", "JPEG", {"restart_marker_rows": 1}),
    "mpo": ("RGB", "MPO", {}),
    "png": ("RGB", "PNG", {}),
    "png-1": ("1", "PNG", {}),
    "png-grey": ("L", "PNG", {}),
    "png-alpha": ("RGBA", "PNG", {}),
    "png-grey-alpha": ("LA", "PNG", {}),
    "png-palette": ("P", "PNG", {"transparency": 0}),
    "png-16": ("I;16", "PNG", {}),
    "webp": ("RGB", "WEBP", {}),
    "webp-lossless": ("RGBA", "WEBP", {"lossless": True}),
    "gif": ("P", "GIF", {}),
    "gif-interlaced": ("P", "GIF", {"interlace": 1}),
    "bmp": ("RGB", "BMP", {}),
    "bmp-1": ("1", "BMP", {}),
    "bmp-palette": ("P", "BMP", {}),
    "dib": ("RGB", "DIB", {}),
    "tiff": ("RGB", "TIFF", {}),
    "tiff-lzw": ("RGB", "TIFF", {"compression": "tiff_lzw"}),
    "tiff-deflate": ("RGB", "TIFF", {"compression": "tiff_adobe_deflate"}),
    "tiff-jpeg": ("RGB", "TIFF", {"compression": "jpeg"}),
    "tiff-packbits": ("L", "TIFF", {"compression": "packbits"}),
    "tiff-fax": ("1", "TIFF", {"compression": "group4"}),
    "tiff-cmyk": ("CMYK", "TIFF", {}),
    "tiff-16": ("I;16", "TIFF", {}),
    "tiff-float": ("F", "TIFF", {}),
    "tiff-lab": ("LAB", "TIFF", {}),
    "avif": ("RGB", "AVIF", {}),
    "jp2": ("RGB", "JPEG2000", {}),
    "ico": ("RGBA", "ICO", {}),
    "icns": ("RGBA", "ICNS", {}),
    "ppm": ("RGB", "PPM", {}),
    "pcx": ("RGB", "PCX", {}),
    "tga": ("RGB", "TGA", {}),
    "sgi": ("RGB", "SGI", {}),
    "dds": ("RGB", "DDS", {}),
    "im": ("RGB", "IM", {}),
    "msp": ("1", "MSP", {}),
    "xbm": ("1", "XBM", {}),
    "spider": ("F", "SPIDER", {}),
    "blp": ("P", "BLP", {}),
    "pdf": ("RGB", "PDF", {}),
    "eps": ("RGB", "EPS", {}),
    "palm": ("1", "PALM", {}),
    "qoi": ("RGB", "QOI", {}),
}
FORMATS = tuple(_SAVED)


@cache
def saved(name: str) -> bytes:
    """A small noisy picture in that format."""
    mode, kind, options = _SAVED[name]
    pixels = np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    if mode == "I;16":
        made = Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 200)
    elif mode == "LAB":
        made = Image.frombytes("LAB", picture.size, picture.tobytes())
    else:
        made = picture.convert(mode)
    buffer = io.BytesIO()
    made.save(buffer, kind, **options)
    return buffer.getvalue()


def heic() -> bytes:
    """As phones write it."""
    import pillow_heif

    pillow_heif.register_heif_opener()
    buffer = io.BytesIO()
    pictures.scene(128, 96).save(buffer, "HEIF", quality=60)
    return buffer.getvalue()


@cache
def _hostile() -> dict[str, bytes]:
    plain = saved("jpeg")
    html = b"<html><script>alert(1)</script>"
    return {
        **pictures.FOREIGN,
        "bomb of 1 bit": pictures.one_bit_bomb(),
        "text bomb": pictures.text_bomb(b"zTXt"),
        "profile bomb": pictures.text_bomb(b"iCCP"),
        "long gif": pictures.long_gif(),
        "long webp": pictures.long_webp(60),
        "looping exif": pictures.looping_exif_jpeg(),
        "looping tiff": pictures.looping_tiff(),
        "located": pictures.located_jpeg(),
        "polyglot": plain[:2] + b"\xff\xfe" + struct.pack(">H", len(html) + 2) + html + plain[2:] + html,
        "1 x 65535": pictures.png(
            1, 65_535, pictures.png_chunk(b"IDAT", zlib.compress(b"\x00\x00" * 65_535))
        ),
        "claims 50k": pictures.png(50_000, 50_000, pictures.png_chunk(b"IDAT", zlib.compress(b"\x00"))),
        "no size": pictures.png(0, 0),
        "nothing": b"",
    }


def scans(count: int, width: int, height: int) -> bytes:
    """A progressive JPEG that says nothing in many scans, each of which visits every block.

    A scan is no more than a few bytes: "the rest of the next 32,767 blocks is empty", again and again.
    """
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    head = b"\xff\xd8" + _segment(0xDB, b"\x00" + b"\x10" * 64) + _segment(0xC2, frame)
    codes = bytes([0] * 7 + [16 - 1] + [0] * 8)
    table = b"\x10" + codes + bytes([run << 4 for run in range(15)])
    blocks = ((width + 7) // 8) * ((height + 7) // 8)
    body = head + _segment(0xC4, b"\x00" + bytes([1] + [0] * 15) + b"\x00") + _segment(0xC4, table)
    body += _segment(0xDA, b"\x01\x01\x00\x00\x00\x00") + b"\x00" * ((blocks + 7) // 8)
    scan = _segment(0xDA, b"\x01\x01\x10\x01\x3f\x10") + _runs(blocks)
    return body + scan * count + b"\xff\xd9"


def _runs(blocks: int) -> bytes:
    """End-of-band runs over all blocks: a code of 8 bits for each power of two, and its bits."""
    bits = ""
    while blocks:
        power = min(14, blocks.bit_length() - 1)
        size = min(blocks, (1 << (power + 1)) - 1)
        bits += f"{power:08b}" + (f"{size - (1 << power):0{power}b}" if power else "")
        blocks -= size
    bits += "1" * (-len(bits) % 8)
    packed = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    return packed.replace(b"\xff", b"\xff\x00")


def _segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


HOSTILE = tuple(sorted(_hostile()))


def hostile(name: str) -> bytes:
    """One of the special ones."""
    return _hostile()[name]


def drawn(draw: random.Random) -> tuple[str, bytes]:
    """A format whole or damaged, or something special; the damaged ones in most cases."""
    turn = draw.random()
    if turn < 0.08:
        name = draw.choice(FORMATS)
        return name, saved(name)
    if turn < 0.16:
        name = draw.choice(HOSTILE)
        return name, hostile(name)
    if turn < 0.2:
        return "scans", scans(draw.choice((2, 30)), 64, 48)
    if turn < 0.26:
        return "heic, damaged", damaged(draw, heic())
    name = draw.choice(FORMATS)
    if turn < 0.5:
        content = saved(name)
        return f"{name}, cut", content[: draw.randrange(len(content))]
    return f"{name}, damaged", damaged(draw, saved(name))
