"""Progressive JPEGs put together by hand: as many scans as wanted, of some 75 bytes each at 50 megapixels."""

import struct

_ALL_BLOCKS_OF = 1 << 15
_LAST_RUN = 1 << 14


def many_scans(width: int, height: int, scans: int, before: bytes = b"") -> bytes:
    """One grey picture: a first scan of levels, then refinements that change nothing. `before`: segments."""
    blocks = ((width + 7) // 8) * ((height + 7) // 8)
    bits, left = "", blocks
    while left:
        run = min(left, _ALL_BLOCKS_OF - 1)
        bits += f"0{run - _LAST_RUN:014b}" if run >= _LAST_RUN else "10" * run  # end-of-band runs
        left -= run
    nothing = _coded(bits)
    parts = [
        b"\xff\xd8" + before,
        segment(0xDB, bytes(1) + bytes([1] * 64)),
        segment(0xC2, struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"),
        segment(0xC4, b"\x00" + bytes([1] + [0] * 15) + b"\x00"),
        segment(0xC4, b"\x10" + bytes([1, 1] + [0] * 14) + b"\xe0\x00"),
        segment(0xDA, b"\x01\x01\x00\x00\x00\x01") + _coded("0" * blocks),
    ]
    for number in range(1, scans):
        parts.append(segment(0xDA, b"\x01\x01\x00\x01\x3f" + (b"\x01" if number == 1 else b"\x10")) + nothing)
    return b"".join(parts) + b"\xff\xd9"


def segment(marker: int, content: bytes) -> bytes:
    """With its length."""
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def _coded(bits: str) -> bytes:
    filled = bits + "1" * (-len(bits) % 8)
    return int(filled, 2).to_bytes(len(filled) // 8).replace(b"\xff", b"\xff\x00")
