"""What a user hands over: manifests and folders, read one record at a time, bad ones named and skipped."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from chassis.vectors.origin import Origin
from corpus.attributes import plain_text
from corpus.folders import FolderFile, file_in, files_in, thing_in
from corpus.jsonl import LONGEST_LINE as LONGEST_LINE
from corpus.jsonl import ManifestError as ManifestError
from corpus.jsonl import Rejected as Rejected
from corpus.jsonl import Span, is_text, json_lines, open_manifest, spans
from corpus.sources import BadName, SourceName, source_name, with_shared_urls

LARGEST_PHOTO = 30 * 2**20
LARGEST_PAGE = 16 * 2**20
_COUNTED = 2**40
"""Records and bytes that are counted together: all of a manifest."""
PHOTO_SUFFIXES = frozenset(
    {
        ".jpg",
        ".jpeg",
        ".jpe",
        ".jfif",
        ".heic",
        ".heif",
        ".avif",
        ".png",
        ".webp",
        ".gif",
        ".bmp",
        ".tif",
        ".tiff",
    }
)
METADATA = "metadata.jsonl"
"""What a folder says about its photos, as the ImageFolder of Hugging Face's datasets has it."""
_RESERVED = frozenset({"file_name", "entity", "attributes", "title", "url"})
_SCHEMES = frozenset({"http", "https", "file"})


class PageFormat(StrEnum):
    """How a page is written."""

    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"


_FORMATS = {
    ".html": PageFormat.HTML,
    ".htm": PageFormat.HTML,
    ".md": PageFormat.MARKDOWN,
    ".markdown": PageFormat.MARKDOWN,
    ".txt": PageFormat.TEXT,
}
PAGE_SUFFIXES = frozenset(_FORMATS)


@dataclass(frozen=True, slots=True)
class PhotoRecord:
    """One line of an image manifest; the photo is a file on this machine."""

    where: str
    photo: Path
    entity: str
    attributes: Mapping[str, Any] | str
    title: str = ""
    url: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page before extraction.

    `url` is empty where the page itself must say it; `fallback_url` is used when it does not. `origin`: its
    address as a document; its URL if that is empty.
    """

    where: str
    content: str | bytes
    format: PageFormat
    url: str = ""
    title: str = ""
    last_modified: datetime | None = None
    fallback_url: str = ""
    origin: Origin | None = None


class _Unusable(Exception):
    """Why one record is rejected."""


def name_of(source: Path, given: str = "") -> SourceName:
    """Return the source's name: the one that is given, or one made from its path. Raises `ManifestError`."""
    try:
        return source_name(source, given, in_folder=is_page_file(source) or is_photo_file(source))
    except BadName as error:
        raise ManifestError(str(error)) from error


def count_records(source: Path) -> int:
    """How many lines or files there are to go through. Raises `ManifestError`."""
    if source.is_dir():
        return len(files_of(source))
    if is_page_file(source) or is_photo_file(source):
        return 1
    return sum(span.records for span in spans(source, _COUNTED, _COUNTED))


def count_photos(source: Path) -> int:
    """The same for photos: in a folder every photo counts, and every line about one that is not there."""
    return sum(1 for _ in read_photos(source)) if source.is_dir() else count_records(source)


def manifest_digest(source: Path, photos: Iterable[Path] = ()) -> str:
    """SHA-256 (hex) that changes when a manifest or a file it names does, or a file in a folder.

    Files are told apart by name, size and time of change: reading them all once more would double the work.
    Raises `ManifestError`.
    """
    digest = hashlib.sha256()
    if source.is_dir():
        named = [(each.name, each.path) for each in files_of(source)]
    elif is_page_file(source) or is_photo_file(source):
        named = [(path.name, path) for path in (_present(source), source.with_name(METADATA))]
    else:
        with open_manifest(source) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        named = [(path.name, path) for path in photos]
    for name, path in named:
        try:
            status = path.stat()
        except OSError:
            continue
        digest.update(f"\n{name}\0{status.st_size}\0{status.st_mtime_ns}".encode(errors="replace"))
    return digest.hexdigest()


def read_photos(source: Path, name: SourceName | None = None) -> Iterator[PhotoRecord | Rejected]:
    """Photos of a JSONL manifest or of a folder, or one photo of a folder. Raises `ManifestError`.

    Lines are `{"photo", "entity", "attributes"?, "title"?, "url"?}`; photos relative to the manifest. In a
    folder the names of files say what they show, and lines of a `metadata.jsonl` add to that:
    `{"file_name", "entity"?, "attributes"?, "title"?, "url"?, …}`, where further fields are attributes too.
    """
    name = name or name_of(source)
    if source.is_dir():
        yield from _folder_photos(source, files_of(source, name))
        return
    if is_photo_file(source):
        folder, metadata = source.parent, source.with_name(METADATA)
        paths = [_present(source), *([metadata] if metadata.exists() else [])]
        files = _with_origins([file_in(folder, path) for path in paths], folder, name)
        yield from (each for each in _folder_photos(folder, files) if each.where == files[0].name)
        return
    things_in: dict[str, dict[str, int]] = {}
    for where, record in json_lines(source):
        try:
            fields = _fields(record)
            photo = _text(fields, "photo", required=True)
            things = things_in.setdefault(photo, {})
            number = things.setdefault(_text(fields, "entity"), len(things) + 1)
            origin = name.origin(photo if number == 1 else f"{photo}#{number}")
            yield _photo_record(where, source.parent / photo, fields, origin)
        except _Unusable as reason:
            yield Rejected(where, str(reason))


def read_pages(
    source: Path, span: Span | None = None, name: SourceName | None = None
) -> Iterator[PageRecord | Rejected]:
    """Pages of a JSONL file, or a `span` of it, of one page file, or of a folder of page files.

    Lines are `{"url", "html" | "text", "title"?, "last_modified"?}`. Raises `ManifestError`.
    """
    name = name or name_of(source)
    if source.is_dir() or is_page_file(source):
        yield from map(page_of_file, page_files(source, name))
    else:
        for where, record in json_lines(source, span):
            try:
                yield _page_record(where, record, name)
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


def _photo_record(where: str, photo: Path, fields: Mapping[str, Any], origin: Origin | None) -> PhotoRecord:
    attributes = fields.get("attributes") or {}
    if not isinstance(attributes, dict | str):
        raise _Unusable('"attributes" is neither an object nor a text.')
    _check_file(photo, LARGEST_PHOTO, "photo")
    return PhotoRecord(
        where=where,
        photo=photo,
        entity=_text(fields, "entity", required=True),
        attributes=attributes,
        title=_text(fields, "title"),
        url=_url(fields),
        origin=origin,
    )


def _folder_photos(folder: Path, files: Sequence[FolderFile]) -> Iterator[PhotoRecord | Rejected]:
    metadata = [
        each for each in files if each.path.name == METADATA and not each.fault and each.path.is_file()
    ]
    told: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for each in metadata:
        place = PurePosixPath(each.path.relative_to(folder).as_posix()).parent
        for where, record in json_lines(each.path):
            line = f"{each.name}, {where}"
            try:
                fields = _fields(record)
                if told.setdefault(_file_name(place, fields), (line, fields))[0] != line:
                    raise _Unusable("An earlier line is about the same photo.")
            except _Unusable as reason:
                yield Rejected(line, str(reason))
    of_things: dict[tuple[PurePosixPath, str], Mapping[str, Any]] = {}
    for file_name, (_, fields) in told.items():
        of_things.setdefault(_thing(file_name), fields)
    for each in files:
        if each in metadata:
            continue
        file_name = _file_key(each.path.relative_to(folder).as_posix())
        own = told.pop(file_name, None)
        place, thing = _thing(file_name)
        yield _folder_photo(
            each, thing, own[1] if own else of_things.get((place, thing), {}) if thing else {}
        )
    yield from (Rejected(line, "The photo is not there.") for line, _ in told.values())


def _folder_photo(file: FolderFile, thing: str, fields: Mapping[str, Any]) -> PhotoRecord | Rejected:
    """`fields`: of the photo's own line, or of one about another photo of the same thing."""
    suffix = file.path.suffix.lower()
    try:
        if file.fault:
            raise _Unusable(file.fault)
        if suffix not in PHOTO_SUFFIXES:
            raise _Unusable(f"It is no photo: {_listed(PHOTO_SUFFIXES)} files are.")
        entity = fields.get("entity") or thing
        if not entity:
            raise _Unusable(f"Its name says not what it shows; rename it, or say it in {METADATA}.")
        attributes = fields.get("attributes") or {}
        others = {key: value for key, value in fields.items() if key not in _RESERVED}
        if others and not isinstance(attributes, dict):
            raise _Unusable('"attributes" is not an object, and there are further fields.')
        whole = {**fields, "entity": entity, "attributes": {**others, **attributes} if others else attributes}
        return _photo_record(file.name, file.path, whole, file.origin)
    except _Unusable as reason:
        return Rejected(file.name, str(reason))


def _file_name(place: PurePosixPath, fields: Mapping[str, Any]) -> str:
    given = fields.get("file_name")
    if not isinstance(given, str) or not given.strip():
        raise _Unusable('"file_name" is missing.')
    return _file_key((place / given).as_posix())


def _file_key(name: str) -> str:
    """What names of one file have in common: systems write accents in two ways."""
    return unicodedata.normalize("NFC", PurePosixPath(name).as_posix())


def _thing(name: str) -> tuple[PurePosixPath, str]:
    """The folder and what the photo's name says that it shows; numbered photos of a thing share it."""
    path = PurePosixPath(name)
    return path.parent, thing_in(path)


def _page_record(where: str, record: Mapping[str, Any] | Rejected, name: SourceName) -> PageRecord:
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
        format=PageFormat.HTML if present[0] == "html" else PageFormat.MARKDOWN,
        url=url,
        title=_text(fields, "title"),
        last_modified=moment(modified) if modified else None,
        origin=name.origin_of_url(url),
    )


def page_of_file(file: FolderFile) -> PageRecord | Rejected:
    """The page that a file holds."""
    suffix = file.path.suffix.lower()
    try:
        if file.fault:
            raise _Unusable(file.fault)
        if suffix not in PAGE_SUFFIXES:
            raise _Unusable(f"It is no page: {_listed(PAGE_SUFFIXES)} files are.")
        _check_file(file.path, LARGEST_PAGE, "file")
        content = file.path.read_bytes()
        if not content.strip():
            raise _Unusable("The file is empty.")
        if not is_text(content):
            raise _Unusable("The file holds something else than text.")
    except _Unusable as reason:
        return Rejected(file.name, str(reason))
    except OSError as error:
        return Rejected(file.name, f"The file cannot be read ({error.strerror}).")
    address = file.origin.address if file.origin else ""
    url = address if file.shares_url else ""
    return PageRecord(file.name, content, _FORMATS[suffix], url, fallback_url=address, origin=file.origin)


def is_page_file(source: Path) -> bool:
    """Whether it is one page, and no JSONL of many."""
    return source.suffix.lower() in PAGE_SUFFIXES


def is_photo_file(source: Path) -> bool:
    """Whether it is one photo, and no JSONL of many."""
    return source.suffix.lower() in PHOTO_SUFFIXES


def files_of(folder: Path, name: SourceName | None = None) -> list[FolderFile]:
    """Every file of a folder, in order; with a `name` each has its origin.

    Raises `ManifestError` where there is none.
    """
    files = list(files_in(folder))
    if not files:
        raise ManifestError(f"There is nothing to index in {folder}.")
    return _with_origins(files, folder, name) if name is not None else files


def _with_origins(files: Iterable[FolderFile], folder: Path, name: SourceName) -> list[FolderFile]:
    return [replace(each, origin=name.origin(each.path.relative_to(folder).as_posix())) for each in files]


def _present(source: Path) -> Path:
    if not source.exists():
        raise ManifestError(f"{source} is not there.")
    return source


def page_files(source: Path, name: SourceName) -> list[FolderFile]:
    """The files of a folder of pages, or the one page file, with their origins. Blocking.

    Raises `ManifestError`.
    """
    if source.is_dir():
        return with_shared_urls(files_of(source, name))
    return [FolderFile(source, source.name, origin=name.origin(source.name))]


def _listed(suffixes: frozenset[str]) -> str:
    return ", ".join(sorted(suffixes))


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
