"""What a user hands over: manifests and folders, read one record at a time, bad ones named and skipped."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from corpus.attributes import plain_text

LONGEST_LINE = 32 * 2**20
LARGEST_PHOTO = 20 * 2**20
LARGEST_PAGE = 16 * 2**20
PAGE_SUFFIXES = frozenset({".html", ".htm", ".txt", ".md"})
_HTML_SUFFIXES = frozenset({".html", ".htm"})
_SCHEMES = frozenset({"http", "https", "file"})


class ManifestError(Exception):
    """The manifest as a whole cannot be read; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that was skipped: where it is (`line 7` or a file's name) and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class PhotoRecord:
    """One line of an image manifest; the photo is a file on this machine."""

    where: str
    photo: Path
    entity: str
    attributes: Mapping[str, Any] | str
    title: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page before extraction. `content` is HTML where `is_html`, else text (Markdown or plain).

    `url` is empty where the page itself must say it; `fallback_url` is used when it does not.
    """

    where: str
    content: str | bytes
    is_html: bool
    url: str = ""
    title: str = ""
    last_modified: datetime | None = None
    fallback_url: str = ""


class _Unusable(Exception):
    """Why one record is rejected."""


def count_records(source: Path) -> int:
    """How many lines or files there are to go through. Raises `ManifestError`."""
    if source.is_dir():
        return len(_page_files(source))
    if source.suffix.lower() in PAGE_SUFFIXES:
        return 1
    with _open(source) as stream:
        return sum(1 for line in stream if line.strip())


def manifest_digest(source: Path, photos: Iterable[Path] = ()) -> str:
    """SHA-256 (hex) that changes when the manifest or a file it names does. Raises `ManifestError`.

    Files are told apart by name, size and time of change: reading them all once more would double the work.
    """
    digest = hashlib.sha256()
    if not source.is_dir():
        with _open(source) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    for path in [*(_page_files(source) if source.is_dir() else []), *photos]:
        try:
            status = path.stat()
        except OSError:
            continue
        digest.update(f"\n{path.name}\0{status.st_size}\0{status.st_mtime_ns}".encode(errors="replace"))
    return digest.hexdigest()


def read_photos(manifest: Path) -> Iterator[PhotoRecord | Rejected]:
    """Lines of `{"photo", "entity", "attributes"?, "title"?, "url"?}`; photos relative to the manifest."""
    for where, record in _json_lines(manifest):
        try:
            yield _photo_record(where, record, manifest.parent)
        except _Unusable as reason:
            yield Rejected(where, str(reason))


def read_pages(source: Path) -> Iterator[PageRecord | Rejected]:
    """Pages of a JSONL file, of one page file, or of a folder of page files.

    Lines are `{"url", "html" | "text", "title"?, "last_modified"?}`. Raises `ManifestError`.
    """
    if source.is_dir():
        for path in _page_files(source):
            yield _page_file(path, path.relative_to(source).as_posix())
    elif source.suffix.lower() in PAGE_SUFFIXES:
        yield _page_file(source, source.name)
    else:
        for where, record in _json_lines(source):
            try:
                yield _page_record(where, record)
            except _Unusable as reason:
                yield Rejected(where, str(reason))


def web_url(text: str) -> str:
    """`text` when it is an absolute http, https or file URL of sensible length, else an empty string."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    usable = parts.scheme in _SCHEMES and (parts.netloc or parts.path) and len(text) <= 2048
    return plain_text(text.strip()) if usable else ""


def moment(text: str) -> datetime | None:
    """An ISO 8601 or HTTP date, in UTC where it names no zone; None when it is neither."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            parsed = parse(text.strip())
        except (ValueError, TypeError, IndexError):
            continue
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None


def _photo_record(where: str, record: Mapping[str, Any] | Rejected, folder: Path) -> PhotoRecord:
    fields = _fields(record)
    attributes = fields.get("attributes") or {}
    if not isinstance(attributes, dict | str):
        raise _Unusable('"attributes" is neither an object nor a text.')
    photo = folder / _text(fields, "photo", required=True)
    _check_file(photo, LARGEST_PHOTO, "photo")
    return PhotoRecord(
        where=where,
        photo=photo,
        entity=_text(fields, "entity", required=True),
        attributes=attributes,
        title=_text(fields, "title"),
        url=_url(fields),
    )


def _page_record(where: str, record: Mapping[str, Any] | Rejected) -> PageRecord:
    fields = _fields(record)
    present = [key for key in ("html", "text") if isinstance(fields.get(key), str) and fields[key].strip()]
    if not present:
        raise _Unusable('There is neither "html" nor "text".')
    modified = fields.get("last_modified")
    if modified is not None and (not isinstance(modified, str) or moment(modified) is None):
        raise _Unusable('"last_modified" is not a date.')
    url = _url(fields)
    if not url and present[0] == "text":
        raise _Unusable('"url" is missing.')
    return PageRecord(
        where=where,
        content=fields[present[0]],
        is_html=present[0] == "html",
        url=url,
        title=_text(fields, "title"),
        last_modified=moment(modified) if modified else None,
    )


def _page_file(path: Path, name: str) -> PageRecord | Rejected:
    try:
        _check_file(path, LARGEST_PAGE, "file")
        content = path.read_bytes()
    except _Unusable as reason:
        return Rejected(name, str(reason))
    except OSError as error:
        return Rejected(name, f"The file cannot be read ({error.strerror}).")
    if not content.strip():
        return Rejected(name, "The file is empty.")
    is_html = path.suffix.lower() in _HTML_SUFFIXES
    return PageRecord(name, content, is_html, fallback_url="file:" + quote(name, errors="replace"))


def _page_files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in PAGE_SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def _check_file(path: Path, largest: int, what: str) -> None:
    try:
        size = path.stat().st_size
        is_file = path.is_file()
    except (OSError, ValueError):
        raise _Unusable(f"The {what} is not there.") from None
    if not is_file:
        raise _Unusable(f"The {what} is not a file.")
    if size == 0:
        raise _Unusable(f"The {what} is empty.")
    if size > largest:
        raise _Unusable(f"The {what} is larger than {largest // 2**20} MiB.")


def _open(source: Path) -> Any:
    try:
        return source.open("rb")
    except OSError as error:
        raise ManifestError(f"{source} cannot be read ({error.strerror}).") from error


def _json_lines(manifest: Path) -> Iterator[tuple[str, Mapping[str, Any] | Rejected]]:
    with _open(manifest) as stream:
        number = 0
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            where = f"line {number}"
            if len(line) > LONGEST_LINE:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(LONGEST_LINE)
                yield where, Rejected(where, f"The line is longer than {LONGEST_LINE // 2**20} MiB.")
            elif line.strip():
                yield where, _parse_line(where, line)


def _parse_line(where: str, line: bytes) -> Mapping[str, Any] | Rejected:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Rejected(where, "The line is not UTF-8.")
    except ValueError as error:
        column = f" (column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        return Rejected(where, f"The line is not JSON{column}.")
    except RecursionError:
        return Rejected(where, "The JSON is nested too deeply.")
    return record if isinstance(record, dict) else Rejected(where, "The line is not a JSON object.")


def _fields(record: Mapping[str, Any] | Rejected) -> Mapping[str, Any]:
    if isinstance(record, Rejected):
        raise _Unusable(record.reason)
    return record


def _text(fields: Mapping[str, Any], key: str, *, required: bool = False) -> str:
    value = fields.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise _Unusable(f'"{key}" is missing.' if value is None else f'"{key}" is not a text.')
    cleaned = re.sub(r"\s+", " ", plain_text(value)).strip()
    if required and not cleaned:
        raise _Unusable(f'"{key}" is empty.')
    if len(cleaned) > 1024:
        raise _Unusable(f'"{key}" is longer than 1024 characters.')
    return cleaned


def _url(fields: Mapping[str, Any]) -> str:
    given = fields.get("url")
    if given is None or given == "":
        return ""
    url = web_url(given) if isinstance(given, str) else ""
    if not url:
        raise _Unusable('"url" is not an absolute http, https or file URL.')
    return url
