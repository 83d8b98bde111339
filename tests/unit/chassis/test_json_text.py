"""JSON is counted while it arrives; what is refused never became an object."""

import json
import tracemalloc
from typing import Any

import pytest

from chassis.errors import LoreglassError, MalformedRequest, PayloadTooLarge
from chassis.json_text import MOST_ESCAPES, JsonLimits, JsonShape, read_json

LIMITS = JsonLimits(max_bytes=None, max_items=1_000, max_depth=20)
MB = 2**20


def pieces_of(text: bytes, size: int) -> list[bytes]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def count(text: bytes, limits: JsonLimits, size: int = 2**16) -> None:
    shape = JsonShape(limits)
    for piece in pieces_of(text, size):
        shape.feed(piece)


@pytest.mark.parametrize(
    ("unit", "refusal"),
    [
        (b"1,", PayloadTooLarge),
        (b"{},", PayloadTooLarge),
        (b"[],", PayloadTooLarge),
        (b'"",', PayloadTooLarge),
        (b'"a":1,', PayloadTooLarge),
        (b'"\\\\","\\"",', PayloadTooLarge),
        (b"[", MalformedRequest),
        (b'{"a":', MalformedRequest),
    ],
)
def test_many_small_values_are_refused_without_memory_for_them(
    unit: bytes, refusal: type[LoreglassError]
) -> None:
    text = b"[" + unit * (4 * MB // len(unit))
    tracemalloc.start()
    try:
        with pytest.raises(refusal):
            read_json(text, LIMITS)
        assert tracemalloc.get_traced_memory()[1] < 6 * MB  # one piece of 64 KiB, split at its quotes
    finally:
        tracemalloc.stop()


def test_escapes_are_counted_too() -> None:
    count(b'["' + b'\\"' * (MOST_ESCAPES - 10) + b'"]', LIMITS)
    with pytest.raises(PayloadTooLarge):
        count(b'["' + b'\\"' * (MOST_ESCAPES + 10) + b'"]', LIMITS)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100_000])
@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, {"b": "x,y:[{"}], "c": '\\"[,,,', "d": "\\", "e": "é\u2028\U0001f600"},
        ["\\" * 9, '"' * 5, '\\"' * 3, "[{" * 500, ",:" * 2_000],
        "[[[[",
        [[[[]]]],
    ],
)
def test_brackets_in_strings_do_not_count_at_any_chunk_boundary(value: Any, size: int) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        exact = JsonLimits(None, max_items=_items(value), max_depth=_depth(value))
        count(text.encode(), exact, size)
        assert read_json(text.encode(), exact) == value
        if isinstance(value, list | dict):
            with pytest.raises(PayloadTooLarge):
                count(text.encode(), JsonLimits(None, exact.max_items - 1, exact.max_depth), size)
            with pytest.raises(MalformedRequest):
                count(text.encode(), JsonLimits(None, exact.max_items, exact.max_depth - 1), size)


def _items(value: Any) -> int:
    if isinstance(value, dict):
        return max(1, 2 * len(value)) + sum(
            map(_items, value.values())
        )  # a colon each, a comma between, a bracket
    if isinstance(value, list):
        return max(1, len(value)) + sum(map(_items, value))
    return 0


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_depth, inner), default=0)
    return 0


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "[NaN]", "[-Infinity]", "9" * 6_000, '{"a"', "", "\x00", "[" * 5_000]
)
def test_invalid_json_is_refused(text: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(MalformedRequest):
            read_json(given)


def test_encodings_except_utf8_are_refused() -> None:
    assert read_json(b"\xef\xbb\xbf[1]") == [1]
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        with pytest.raises(MalformedRequest):  # U+2C22 has the bytes of a quote and a comma
            read_json(json.dumps(["\u2c22"], ensure_ascii=False).encode(encoding), LIMITS)
