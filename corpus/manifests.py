"""JSONL, however long its lines are and whatever they hold: one record at a time, and its fields."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from corpus.pages import PAGE_FORMATS
from corpus.values import plain_text, web_url

LONGEST_LINE = 32 * 2**20
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - set(b"\t\n\f\r\x1b")))
_LOOKED_AT = 4096
"""Bytes of a manifest that tell whether it is text."""


class ManifestError(Exception):
    """The manifest as a whole cannot be read; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that was skipped: where it is (`line 7` or a file's name) and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Span:
    """Whole lines of a file: its bytes from `start` to `end`, `records` lines that are not empty.

    `line`: the number of the first one, from 1.
    """

    start: int
    end: int
    line: int
    records: int


def is_text(content: bytes) -> bool:
    """Return whether it can be text: control characters are rare in encodings but UTF-16 and UTF-32."""
    if content.startswith(_WIDE_MARKS):
        return True
    controls = len(content) - len(content.translate(None, _CONTROLS))
    return controls * 200 <= len(content) and not content.startswith(b"%PDF-")


@contextmanager
def open_manifest(source: Path) -> Iterator[BufferedReader]:
    """Open the file. Raises `ManifestError` if it cannot be read or is not text."""
    try:
        stream = source.open("rb")
    except OSError as error:
        raise ManifestError(f"{source} cannot be read ({error.strerror}).") from error
    with stream:
        if not is_text(stream.peek(_LOOKED_AT)[:_LOOKED_AT]):
            raise ManifestError(
                f"{source} is not a JSONL file. Pages can be {', '.join(sorted(PAGE_FORMATS))}."
                " To index one photo, give its folder."
            )
        yield stream


def json_lines(
    manifest: Path, span: Span | None = None, holding: bytes = b""
) -> Iterator[tuple[str, Mapping[str, Any] | Rejected]]:
    """Yield each record's place, and its object or why it has none; only of lines that hold these bytes.

    Raises `ManifestError`.
    """
    with open_manifest(manifest) as stream:
        place, number = (span.start, span.line - 1) if span else (0, 0)
        stream.seek(place)
        while (span is None or place < span.end) and (line := stream.readline(LONGEST_LINE + 1)):
            number += 1
            place += len(line)
            where = f"line {number}"
            if len(line) > LONGEST_LINE:
                place += sum(map(len, _rest(stream, line)))
                yield where, Rejected(where, f"The line is longer than {LONGEST_LINE // 2**20} MiB.")
            elif holding in line and line.strip():
                yield where, _parse_line(where, line)


def spans(manifest: Path, records: int, most_bytes: int) -> Iterator[Span]:
    """Yield a file, cut after so many records or bytes, whichever is first. Raises `ManifestError`."""
    with open_manifest(manifest) as stream:
        start, end, first, number, held = 0, 0, 1, 1, 0
        while line := stream.readline(LONGEST_LINE + 1):
            held += bool(line.strip())
            number += 1
            end += len(line) + sum(map(len, _rest(stream, line)))
            if held >= records or end - start >= most_bytes:
                yield Span(start, end, first, held)
                start, first, held = end, number, 0
        if end > start:
            yield Span(start, end, first, held)


def _rest(stream: BufferedReader, line: bytes) -> Iterator[bytes]:
    """Yield the rest of a line that is longer than is read at once."""
    while line and not line.endswith(b"\n"):
        line = stream.readline(LONGEST_LINE)
        yield line


class _Repeated(ValueError):
    """A JSON object has a key twice."""


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _Repeated(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return fields


def _parse_line(where: str, line: bytes) -> Mapping[str, Any] | Rejected:
    try:
        record = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError:
        return Rejected(where, "The line is not UTF-8.")
    except _Repeated as error:
        return Rejected(where, f'The line has "{plain_text(str(error))[:80]}" twice.')
    except ValueError as error:
        column = f" (column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        return Rejected(where, f"The line is not JSON{column}.")
    except RecursionError:
        return Rejected(where, "The JSON is nested too deeply.")
    return record if isinstance(record, dict) else Rejected(where, "The line is not a JSON object.")


class Unusable(Exception):
    """A record cannot be indexed; the message is for the user."""


def check_file(path: Path, largest: int, what: str) -> None:
    try:
        size = path.stat().st_size
        is_file = path.is_file()
    except (OSError, ValueError):
        raise Unusable(f"The {what} is not there.") from None
    if not is_file:
        raise Unusable(f"The {what} is not a file.")
    if size == 0:
        raise Unusable(f"The {what} is empty.")
    if size > largest:
        raise Unusable(f"The {what} is larger than {largest // 2**20} MiB.")


def record_fields(record: Mapping[str, Any] | Rejected) -> Mapping[str, Any]:
    if isinstance(record, Rejected):
        raise Unusable(record.reason)
    return record


def text_field(fields: Mapping[str, Any], key: str, *, required: bool = False) -> str:
    value = fields.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise Unusable(f'"{key}" is missing.' if value is None else f'"{key}" is not a text.')
    cleaned = re.sub(r"\s+", " ", plain_text(value)).strip()
    if required and not cleaned:
        raise Unusable(f'"{key}" is empty.')
    if len(cleaned) > 1024:
        raise Unusable(f'"{key}" is longer than 1024 characters.')
    return cleaned


def url_field(fields: Mapping[str, Any]) -> str:
    given = fields.get("url")
    if given is None or given == "":
        return ""
    url = web_url(given) if isinstance(given, str) else ""
    if not url:
        raise Unusable('"url" is not an absolute http, https or file URL.')
    return url
