"""JPEGs that need no decoding and encoding again: what is not pixels is cut off, and what is left is proven.

Only what cameras write is kept: baseline, three components in one scan, each table once and used (ITU-T T.81,
annex B). Whatever else a file holds is no fault: it is decoded and encoded again, as any picture.
"""

import re
from dataclasses import dataclass
from enum import IntEnum

from PIL import Image, _imaging

_SOI, _EOI = b"\xff\xd8", b"\xff\xd9"
_JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
"""Instead of the sender's: the components are Y, Cb, Cr; no thumbnail."""
_MOST_SEGMENTS = 64
_MOST_BYTES_A_PIXEL = 0.5
"""Quality 92, at which others are encoded, takes .2 to .35 of real photos; a conversation keeps its photo."""
_SAMPLING = (b"\x11\x11\x11", b"\x21\x11\x11", b"\x12\x11\x11", b"\x22\x11\x11")
_COMPONENTS = (b"\x01\x02\x03", b"\x00\x01\x02")
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7]")
_RESTART = re.compile(rb"\xff[\xd0-\xd7]")
_READ_AHEAD = bytes(8)
"""As many as libjpeg may read behind the last code."""
_DONE = (-1, 0)
"""Of Pillow's decoder: it needs no more, and nothing was wrong."""


class _Kind(IntEnum):
    """The kind of a segment (T.81, table B.1)."""

    SOF0 = 0xC0
    DHT = 0xC4
    SOS = 0xDA
    DQT = 0xDB
    DRI = 0xDD
    APP1 = 0xE1
    APP14 = 0xEE


_BESIDE = frozenset((*range(0xE0, 0xF0), 0xFE))
"""Applications' own segments, and comments."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A JPEG of nothing but pixels. `has_app1`: its original had segments that may say which side is up."""

    jpeg: bytes
    width: int
    height: int
    has_app1: bool


def cut(data: bytes, max_side: int) -> Cut | None:
    """The picture without anything beside it; None where it is larger, or none of those that are kept.

    The coded data are not looked at: `is_whole` does.
    """
    walk = _Walk(data)
    if data[:2] != _SOI or not walk.reaches_scan() or max(walk.width, walk.height) > max_side:
        return None
    start = walk.at
    end = _MARKER.search(data, start)
    if end is None or end[0] != _EOI or len(walk.segments) + end.start() - start > walk.most_bytes():
        return None
    if not walk.restarts_in_order(data[start : end.start()]):
        return None
    jpeg = b"".join((_SOI, _JFIF, walk.segments, memoryview(data)[start : end.end()]))
    return Cut(jpeg, walk.width, walk.height, walk.has_app1)


def is_whole(picture: Cut) -> bool:
    """Return whether the coded data hold exactly the blocks of the picture, but for eight bytes. Blocking.

    At an eighth libjpeg reads every code and computes a pixel or a few of each block: what is left out,
    transform, upsampling and colour, cannot fail. It is not shown the end, so that it waits for what is
    missing instead of making it up, and must not be done before the last byte came. Codes that are in no
    table it takes for others without a word, here as in every decoding.
    """
    size = (-(-picture.width // 8), -(-picture.height // 8))
    decoder = _imaging.jpeg_decoder("RGB", "RGB", "", 8, 0)
    decoder.setimage(Image.new("RGB", size).im, (0, 0, *size))
    coded = picture.jpeg[: -len(_EOI)]
    try:
        read, _ = decoder.decode(coded[:-1])
        if read < 0:
            return False  # refused, or done before the end
        done: tuple[int, int] = decoder.decode(coded[read:] + _READ_AHEAD)
        return done == _DONE
    finally:
        decoder.cleanup()


class _Walk:
    """Walks from segment to segment up to the coded data."""

    def __init__(self, data: bytes) -> None:
        self.at, self.segments, self.has_app1 = len(_SOI), bytearray(), False
        self.width = self.height = self._interval = 0
        self._data = data
        self._frame, self._sampling = b"", b""
        self._tables: dict[int, set[int]] = {_Kind.DQT: set(), _Kind.DHT: set()}

    def reaches_scan(self) -> bool:
        """Return whether all segments up to the scan's header, included, are what is kept or left out."""
        for _ in range(_MOST_SEGMENTS):
            head = self._data[self.at : self.at + 4]
            end = self.at + 2 + int.from_bytes(head[2:])
            content = self._data[self.at + 4 : end]
            if len(head) < 4 or head[0] != 0xFF or len(content) != end - self.at - 4:
                return False
            kind = head[1]
            if kind not in _BESIDE:
                self.segments += self._data[self.at : end]
            self.at = end
            if not self._takes(kind, content):
                return False
            if kind == _Kind.SOS:
                return True
        return False

    def _takes(self, kind: int, content: bytes) -> bool:
        match kind:
            case _Kind.SOF0:
                return self._takes_frame(content)
            case _Kind.SOS:
                return self._takes_scan(content)
            case _Kind.DQT:
                return self._takes_quantization(content)
            case _Kind.DHT:
                return self._takes_codes(content)
            case _Kind.DRI:
                self._interval, first = int.from_bytes(content), not self._interval
                return first and len(content) == 2 and self._interval > 0
            case _Kind.APP14:
                return not content.startswith(b"Adobe") or content[11:12] == b"\x01"
        self.has_app1 = self.has_app1 or kind == _Kind.APP1
        return kind in _BESIDE

    def _takes_frame(self, content: bytes) -> bool:
        """8 bits, and Y, Cb, Cr as JFIF or by the numbers that libjpeg takes for them."""
        if self._frame or len(content) != 15 or content[0] != 8 or content[5] != 3:
            return False
        self._frame = content
        self.height, self.width = int.from_bytes(content[1:3]), int.from_bytes(content[3:5])
        self._sampling = content[7::3]
        return self.height > 0 < self.width and content[6::3] in _COMPONENTS and self._sampling in _SAMPLING

    def _takes_scan(self, content: bytes) -> bool:
        """Accept one scan of all components and coefficients, by the tables that are there."""
        if not self._frame or len(content) != 10 or content[:1] + content[7:] != b"\x03\x00\x3f\x00":
            return False
        codes = {each for pair in content[2:7:2] for each in (pair >> 4, 0x10 | pair & 15)}
        return (
            content[1:7:2] == self._frame[6::3]
            and set(self._frame[8::3]) == self._tables[_Kind.DQT]
            and codes == self._tables[_Kind.DHT]
        )

    def _takes_quantization(self, content: bytes) -> bool:
        return len(content) % 65 == 0 and all(
            content[at] < 4 and 0 not in content[at + 1 : at + 65] and self._is_new(_Kind.DQT, content[at])
            for at in range(0, len(content), 65)
        )

    def _takes_codes(self, content: bytes) -> bool:
        at = 0
        while at + 17 <= len(content):
            if content[at] & 0xEE or not self._is_new(_Kind.DHT, content[at]):
                return False
            at += 17 + sum(content[at + 1 : at + 17])
        return at == len(content)

    def _is_new(self, kind: int, name: int) -> bool:
        names = self._tables[kind]
        new = name not in names
        names.add(name)
        return new

    def most_bytes(self) -> float:
        return self.width * self.height * _MOST_BYTES_A_PIXEL

    def restarts_in_order(self, coded: bytes) -> bool:
        """Return whether restarts are exactly where the interval says (T.81, B.2.4.4)."""
        if not self._interval:
            return _RESTART.search(coded) is None
        restarts = b"".join(_RESTART.findall(coded))[1::2]
        across, down = 8 * (self._sampling[0] >> 4), 8 * (self._sampling[0] & 15)
        units = -(-self.width // across) * -(-self.height // down)
        expected = bytes(range(0xD0, 0xD8)) * (units // self._interval // 8 + 1)
        return restarts == expected[: (units - 1) // self._interval]
