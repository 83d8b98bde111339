"""Limit the shape of untrusted JSON while it is received, before it is parsed.

A value of a few bytes becomes an object of a hundred, and an error of a thousand: what counts is how
many there are. Bytes bound strings, though not to their own size: one wide character makes Python keep four
bytes of each, of the whole text and again of the string. `read_body` reads one large body at a time.
"""

import json
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any

from chassis.errors import MalformedRequest, PayloadTooLarge

MOST_ESCAPES = 2**20
"""Each is a step of its own for the reader, which answers nobody else meanwhile: 25 ms for so many."""

_STEP = 2**16
_OPENING, _CLOSING, _BETWEEN = b"[{", b"]}", b",:"
_NO_MARK = bytes(set(range(256)) - {*_OPENING, *_CLOSING, *_BETWEEN})


def sendable(text: str) -> str:
    """Return the text without lone surrogates, which models and callers may write and nobody can send."""
    return text.encode(errors="replace").decode()


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """`max_items`: the commas, colons and opening brackets outside of strings, one for each name, value and
    collection. `max_bytes` None: as many as the app takes.
    """

    max_bytes: int | None = 2**20
    max_items: int = 1_024
    max_depth: int = 16


class JsonShape:
    """Counts a JSON text piece by piece. What is no JSON is counted too, and left to the reader to refuse:
    the two agree up to the first thing that is wrong, where the reader stops.
    """

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self._bytes = self._items = self._depth = self._escapes = 0
        self._in_string = self._escaped = False

    def feed(self, piece: bytes) -> None:
        """Raises `PayloadTooLarge` or `MalformedRequest`."""
        most = self._limits.max_bytes
        self._bytes += len(piece)
        if most is not None and self._bytes > most:
            raise PayloadTooLarge(f"The JSON is larger than {most // 1024} KiB.")
        for start in range(0, len(piece), _STEP):
            self._count(self._outside_strings(piece[start : start + _STEP]))

    def _outside_strings(self, piece: bytes) -> bytes:
        if self._in_string and not self._escaped and b'"' not in piece and b"\\" not in piece:
            return b""  # as most of a photo in base64
        if self._escaped:
            piece, self._escaped = piece[1:], False
        if b"\\" in piece:
            self._escapes += piece.count(b"\\")
            if self._escapes > MOST_ESCAPES:
                raise PayloadTooLarge(f"The JSON holds more than {MOST_ESCAPES:,} escaped characters.")
            piece = piece.replace(rb"\\", b"").replace(rb"\"", b"")
            self._escaped = piece.endswith(b"\\")
        between_quotes = piece.split(b'"')
        outside = between_quotes[1::2] if self._in_string else between_quotes[::2]
        self._in_string ^= len(between_quotes) % 2 == 0
        return b"".join(outside)

    def _count(self, outside: bytes) -> None:
        marks = outside.translate(None, _NO_MARK)
        brackets = marks.translate(None, _BETWEEN)
        for bracket in brackets[: self._limits.max_items]:
            self._depth += 1 if bracket in _OPENING else -1
            if self._depth > self._limits.max_depth:
                raise MalformedRequest(f"The JSON is nested deeper than {self._limits.max_depth} levels.")
        closed = sum(map(brackets.count, (b"]", b"}")))
        self._items += len(marks) - closed
        if self._items > self._limits.max_items:
            raise PayloadTooLarge(f"The JSON holds more than {self._limits.max_items:,} names and values.")


def read_json(text: bytes | str, limits: JsonLimits | None = None) -> Any:
    """The value of a JSON text (RFC 8259), without the leniencies of Python's reader: UTF-8, nothing
    said twice, no NaN, no endless numbers. `limits`: of one that has not been counted yet.

    Raises `MalformedRequest` or `PayloadTooLarge`.
    """
    try:
        if limits is not None:
            JsonShape(limits).feed(text.encode() if isinstance(text, str) else text)
        if isinstance(text, bytes):  # in UTF-16, which Python would guess, brackets may look like text
            text = text.removeprefix(BOM_UTF8).decode()
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # ValueError: bad JSON, bad UTF-8, numbers too long to read
        raise MalformedRequest("The body is not valid JSON.") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise MalformedRequest("The body names a field twice.")
    return members


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
