"""A baseline JPEG taken apart and put together again with nothing in it but what its pixels need.

Such a copy is what a camera's or a browser's photo becomes without being encoded anew, which costs time and
quality. Everything that is unusual is left to the encoder: there is one way to write what is here, and a few
lines to check it. Markers and their segments: ITU-T T.81, annex B.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

_START, _END = b"\xff\xd8", b"\xff\xd9"
_TABLES, _CODES, _INTERVAL, _BASELINE, _SCAN = 0xDB, 0xC4, 0xDD, 0xC0, 0xDA
_ADOBE, _COMMENT = 0xEE, 0xFE
_BESIDE = frozenset((*range(0xE0, 0xF0), _COMMENT))
"""Applications' segments and comments: metadata, thumbnails, profiles."""
_JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
"""Says of three components that they are luma and chroma; nothing of its own is kept (T.871, 10.1)."""
_MARKER = re.compile(rb"\xff+([^\x00\xff])")
_CODED_END = re.compile(rb"\xff[^\x00\xd0-\xd7]")
_MOST_SEGMENTS = 512
_SAMPLES_BYTES = 64
_SCAN_BYTES = 10
_YCC = 1
_WHOLE_SPECTRUM = b"\x00\x3f\x00"
_COMPONENTS = 3


@dataclass(slots=True)
class _Parts:
    """What was read of the segments. `tables`, `codes`: by their identifiers, whole."""

    tables: dict[int, bytes] = field(default_factory=dict)
    codes: dict[int, bytes] = field(default_factory=dict)
    interval: bytes = b""
    frame: bytes = b""


class _Unusual(Exception):
    """It is not for us to read."""


def pixels_only(data: bytes) -> bytes | None:
    """The same picture, with only the tables, the frame and the one scan that decode it.

    None for all that is not a sequential JPEG of 8 bits whose three components, luma and chroma, are in one
    scan. Whether what is coded can be decoded is not looked at, nor how the picture is to be turned.
    """
    try:
        return _written(data)
    except (_Unusual, IndexError, struct.error):
        return None


def _written(data: bytes) -> bytes:
    if not data.startswith(_START):
        raise _Unusual
    parts, at = _Parts(), len(_START)
    for _ in range(_MOST_SEGMENTS):
        marker = _MARKER.match(data, at)
        if marker is None:
            raise _Unusual
        kind, begin = marker[1][0], marker.end()
        (length,) = struct.unpack_from(">H", data, begin)
        at = begin + length
        content = data[begin + 2 : at]
        if len(content) != length - 2:
            raise _Unusual
        if kind == _SCAN:
            end = _CODED_END.search(data, at)
            if end is None or end[0] != _END:
                raise _Unusual
            return b"".join((_START, _JFIF, *_needed(parts, content), data[at : end.start()], _END))
        _read(kind, content, parts)
    raise _Unusual


def _read(kind: int, content: bytes, parts: _Parts) -> None:
    if kind == _TABLES:
        _split(content, parts.tables, _table_size)
    elif kind == _CODES:
        _split(content, parts.codes, lambda table: 16 + sum(table[1:17]))
    elif kind == _INTERVAL and len(content) == 2:
        parts.interval = content
    elif kind == _BASELINE and not parts.frame:
        parts.frame = content
    elif kind == _ADOBE and content.startswith(b"Adobe"):
        if content[11] != _YCC:
            raise _Unusual
    elif kind not in _BESIDE:
        raise _Unusual


def _table_size(table: bytes) -> int:
    if table[0] >> 4:
        raise _Unusual  # of 16 bits, which a picture of 8 does not have
    return _SAMPLES_BYTES


def _split(content: bytes, into: dict[int, bytes], size: Callable[[bytes], int]) -> None:
    """Tables one behind the other, each after its identifier; one that comes twice replaces the first."""
    while content:
        whole = 1 + size(content)
        if len(content) < whole:
            raise _Unusual
        into[content[0]] = content[:whole]
        content = content[whole:]


def _needed(parts: _Parts, scan: bytes) -> list[bytes]:
    """The segments before what is coded, of what the frame and the scan name."""
    frame = parts.frame
    depth, height, width, count = struct.unpack_from(">BHHB", frame)
    components = [frame[at : at + 3] for at in range(6, len(frame), 3)]
    names = [each[0] for each in components]
    usual = (depth, count, len(frame)) == (8, _COMPONENTS, 6 + 3 * _COMPONENTS) and height and width
    in_order = len(scan) == _SCAN_BYTES and list(scan[1:-3:2]) == names and scan[-3:] == _WHOLE_SPECTRUM
    if not (usual and in_order and scan[0] == count == len(set(names))) or bytes(names) == b"RGB":
        raise _Unusual
    try:
        tables = [parts.tables[name] for name in sorted({each[2] for each in components})]
        used = {code for each in scan[2:-3:2] for code in (each >> 4, 0x10 | each & 15)}
        codes = [parts.codes[name] for name in sorted(used)]
    except KeyError as error:
        raise _Unusual from error
    interval = [_segment(_INTERVAL, parts.interval)] if parts.interval else []
    return [
        *(_segment(_TABLES, each) for each in tables),
        _segment(_BASELINE, frame),
        *(_segment(_CODES, each) for each in codes),
        *interval,
        _segment(_SCAN, scan),
    ]


def _segment(kind: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, kind, len(content) + 2) + content
