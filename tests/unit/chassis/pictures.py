"""Picture files, good and hostile, made byte by byte where no encoder would make them."""

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

MARKER = b"GPS-MARKER-47.3769N-8.5417E"


def scene(width: int = 96, height: int = 64) -> Image.Image:
    """A picture whose left half is red and whose right half is blue."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2, 0] = 220
    pixels[:, width // 2 :, 2] = 220
    return Image.fromarray(pixels)


def four_colors() -> Image.Image:
    """96 by 64 pixels: red and blue above green and white."""
    picture = Image.new("RGB", (96, 64), (255, 255, 255))
    for place, color in (((0, 0), (220, 0, 0)), ((48, 0), (0, 0, 220)), ((0, 32), (0, 220, 0))):
        picture.paste(color, (*place, place[0] + 48, place[1] + 32))
    return picture


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    """The file's bytes."""
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(kind: str) -> bytes:
    """A file whose every part matters: noise does not compress away."""
    pixels = np.random.default_rng(7).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    return encoded(Image.fromarray(pixels), kind)


def png_chunk(name: bytes, body: bytes) -> bytes:
    """One chunk with its length and checksum."""
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, height: int, *chunks: bytes, depth: int = 1, color: int = 0) -> bytes:
    """A PNG of any claimed size from raw chunks."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + b"".join(chunks) + png_chunk(b"IEND", b"")


def one_bit_bomb() -> bytes:
    """100 megapixels in a few kB, complete and valid."""
    rows = bytes(1 + 10_000 // 8) * 10_000
    return png(10_000, 10_000, png_chunk(b"IDAT", zlib.compress(rows, 9)))


def text_bomb(name: bytes) -> bytes:
    """A small grey PNG with a text or colour-profile chunk that unpacks to 64 MB."""
    packed = zlib.compress(b"A" * 64_000_000, 9)
    chunk = png_chunk(name, b"Comment\x00\x00" + packed)
    pixels = png_chunk(b"IDAT", zlib.compress((b"\x00" + b"\x7f" * 64) * 64))
    return png(64, 64, chunk, pixels, depth=8)


def long_gif() -> bytes:
    """Return a GIF with 4,000 identical frames of 32 x 32 pixels."""
    still = encoded(scene(32, 32).convert("P"), "GIF")
    flags = still[10]
    body_at = 13 + 3 * 2 ** ((flags & 7) + 1)
    start = still.index(b"\x2c", body_at)
    return still[:start] + still[start:-1] * 4_000 + b"\x3b"


def animation(kind: str) -> bytes:
    """Four frames."""
    first, *rest = [scene(32, 32).rotate(turn * 90) for turn in range(4)]
    return encoded(first, kind, save_all=True, append_images=rest)


def located_jpeg() -> bytes:
    """A JPEG with everything that could tell on its owner: EXIF with GPS, XMP, IPTC, ICC, a comment."""
    exif = Image.Exif()
    exif[0x0112] = 1
    exif[0x010E] = MARKER.decode()
    exif[0x8825] = {1: "N", 2: (47.0, 22.0, 36.8), 3: "E", 4: (8.0, 32.0, 30.0), 29: MARKER.decode()}
    return encoded(
        scene(),
        "JPEG",
        quality=90,
        exif=exif,
        comment=MARKER,
        icc_profile=MARKER,
        xmp=b"<x>" + MARKER + b"</x>",
    )


def looping_exif_jpeg() -> bytes:
    """A JPEG whose EXIF directories name each other as the next one."""
    entry = struct.pack("<HHII", 0x8769, 4, 1, 8)  # the EXIF sub-directory is the first directory itself
    gps = struct.pack("<HHII", 0x8825, 4, 1, 8)
    tiff = b"II*\x00" + struct.pack("<I", 8) + struct.pack("<H", 2) + entry + gps + struct.pack("<I", 8)
    body = b"Exif\x00\x00" + tiff
    plain = encoded(scene(), "JPEG", quality=90)
    return plain[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + plain[2:]


def looping_tiff() -> bytes:
    """A TIFF whose second directory is its first."""
    plain = encoded(scene(), "TIFF")
    order = "<" if plain[:2] == b"II" else ">"
    (first,) = struct.unpack(order + "I", plain[4:8])
    (count,) = struct.unpack(order + "H", plain[first : first + 2])
    link = first + 2 + 12 * count
    return plain[:link] + struct.pack(order + "I", first) + plain[link + 4 :]


FOREIGN = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="99" height="99"><image href="file:///etc/passwd"/></svg>',
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n(/etc/passwd) run\n%%EOF",
    "jp2": b"\x00\x00\x00\x0cjP  \r\n\x87\n" + b"\x00" * 64,
    "zip": b"PK\x03\x04" + b"\x00" * 64,
    "text": b"These are words, not a photograph. " * 20,
    "zeros": b"\x00" * 4096,
}
"""Headers of what is not decoded here."""
