"""Read photos and pages from a folder, a file or a manifest, one record at a time."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from chassis.vectors.port import Origin
from corpus.folders import FolderFile, file_in, has_number, thing_in
from corpus.manifests import (
    Rejected,
    Span,
    Unusable,
    check_file,
    is_text,
    json_lines,
    record_fields,
    text_field,
    url_field,
)
from corpus.pages import PAGE_FORMATS, TEXT_FORMATS, PageFormat, largest_file
from corpus.sources import (
    METADATA,
    PAGE_SUFFIXES,
    PHOTO_SUFFIXES,
    SourceName,
    count_records,
    files_of,
    is_page_file,
    is_photo_file,
    listed,
    name_of,
    require_existing,
    with_origins,
    with_shared_urls,
)
from corpus.values import moment

LARGEST_PHOTO = 30 * 2**20
_ADVICE = f"If the number belongs to the name, say so in {METADATA}."
_KINDS = {"photo": ("images", PHOTO_SUFFIXES), "page": ("pages", PAGE_SUFFIXES)}
"""Each kind of file: its subcommand of `loreglass index`, and its suffixes."""
_RESERVED = frozenset({"file_name", "entity", "attributes", "title", "url"})


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
    remark: str = ""


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page before extraction.

    `url` is empty where the page itself must say it; `fallback_url` is used when it does not. `origin`: its
    address as a document; its URL if that is empty. `image`: a picture that the page shows.
    """

    where: str
    content: str | bytes
    format: PageFormat
    url: str = ""
    title: str = ""
    last_modified: datetime | None = None
    fallback_url: str = ""
    origin: Origin | None = None
    image: Path | None = None


def read_pages(
    source: Path, span: Span | None = None, name: SourceName | None = None
) -> Iterator[PageRecord | Rejected]:
    """Pages of a JSONL file, or a `span` of it, of one page file, or of a folder of page files.

    Lines are `{"url", "html" | "text", "title"?, "last_modified"?, "image"?}`; images are files relative to
    the manifest. Raises `ManifestError`.
    """
    name = name or name_of(source)
    if source.is_dir() or is_page_file(source):
        yield from map(page_of_file, page_files(source, name))
    else:
        for where, record in json_lines(source, span):
            try:
                yield _page_record(where, record, name, source.parent)
            except Unusable as reason:
                yield Rejected(where, str(reason))


def read_pictures(manifest: Path) -> Iterator[Path]:
    """The pictures that the pages of a JSONL file show. Raises `ManifestError`."""
    for _, record in json_lines(manifest, holding=b'"image"'):
        with suppress(Unusable):
            if image := text_field(record_fields(record), "image"):
                yield manifest.parent / image


def _page_record(
    where: str, record: Mapping[str, Any] | Rejected, name: SourceName, folder: Path
) -> PageRecord:
    fields = record_fields(record)
    present = [key for key in ("html", "text") if isinstance(fields.get(key), str) and fields[key].strip()]
    if not present:
        raise Unusable('There is neither "html" nor "text".')
    modified = fields.get("last_modified")
    if modified is not None and (not isinstance(modified, str) or moment(modified) is None):
        raise Unusable('"last_modified" is not a date.')
    url = url_field(fields)
    if not url and present[0] == "text":
        raise Unusable('"url" is missing.')
    image = text_field(fields, "image")
    return PageRecord(
        where=where,
        content=fields[present[0]],
        format=PageFormat.HTML if present[0] == "html" else PageFormat.MARKDOWN,
        url=url,
        title=text_field(fields, "title"),
        last_modified=moment(modified) if modified else None,
        origin=name.origin_of_url(url),
        image=folder / image if image else None,
    )


def _check_kind(file: FolderFile, kind: str) -> None:
    """Raises `Unusable` for a file with a fault, or whose suffix is not of this kind."""
    suffix = file.path.suffix.lower()
    if file.fault:
        raise Unusable(file.fault)
    if suffix not in _KINDS[kind][1]:
        for other, (command, suffixes) in _KINDS.items():
            if suffix in suffixes:
                raise Unusable(f"This is a {other}. Index it with: loreglass index {command}")
        types = f"{kind.capitalize()}s can be {listed(_KINDS[kind][1])}"
        raise Unusable(f"Unsupported file type. {types}.")


def page_of_file(file: FolderFile) -> PageRecord | Rejected:
    try:
        _check_kind(file, "page")
        page_format = PAGE_FORMATS[file.path.suffix.lower()]
        check_file(file.path, largest_file(page_format), "file")
        content = file.path.read_bytes()
        if not content.strip():
            raise Unusable("The file is empty.")
        if page_format in TEXT_FORMATS and not is_text(content):
            raise Unusable("The file holds something else than text.")
    except Unusable as reason:
        return Rejected(file.name, str(reason))
    except OSError as error:
        return Rejected(file.name, f"The file cannot be read ({error.strerror}).")
    address = file.origin.address if file.origin else ""
    url = address if file.shares_url else ""
    return PageRecord(file.name, content, page_format, url, fallback_url=address, origin=file.origin)


def page_files(source: Path, name: SourceName) -> list[FolderFile]:
    """The files of a folder of pages, or the one page file, with their origins. Blocking.

    Raises `ManifestError`.
    """
    if source.is_dir():
        return with_shared_urls(files_of(source, name))
    return [FolderFile(source, source.name, origin=name.origin(source.name))]


def count_photos(source: Path) -> int:
    """Count the photos of a source, and lines of a folder's metadata about photos that are missing."""
    return sum(1 for _ in read_photos(source)) if source.is_dir() else count_records(source)


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
        paths = [require_existing(source), *([metadata] if metadata.exists() else [])]
        files = with_origins([file_in(folder, path) for path in paths], folder, name)
        yield from (each for each in _folder_photos(folder, files) if each.where == files[0].name)
        return
    things_in: dict[str, dict[str, int]] = {}
    for where, record in json_lines(source):
        try:
            fields = record_fields(record)
            photo = text_field(fields, "photo", required=True)
            things = things_in.setdefault(photo, {})
            number = things.setdefault(text_field(fields, "entity"), len(things) + 1)
            origin = name.origin(photo if number == 1 else f"{photo}#{number}")
            yield _photo_record(where, source.parent / photo, fields, origin)
        except Unusable as reason:
            yield Rejected(where, str(reason))


def _photo_record(where: str, photo: Path, fields: Mapping[str, Any], origin: Origin | None) -> PhotoRecord:
    attributes = fields.get("attributes") or {}
    if not isinstance(attributes, dict | str):
        raise Unusable('"attributes" is neither an object nor a text.')
    check_file(photo, LARGEST_PHOTO, "photo")
    return PhotoRecord(
        where=where,
        photo=photo,
        entity=text_field(fields, "entity", required=True),
        attributes=attributes,
        title=text_field(fields, "title"),
        url=url_field(fields),
        origin=origin,
    )


def _folder_photos(folder: Path, files: Sequence[FolderFile]) -> Iterator[PhotoRecord | Rejected]:
    metadata = [
        each for each in files if each.path.name == METADATA and not each.fault and each.path.is_file()
    ]
    facts: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for each in metadata:
        place = PurePosixPath(each.path.relative_to(folder).as_posix()).parent
        for where, record in json_lines(each.path):
            line = f"{each.name}, {where}"
            try:
                fields = record_fields(record)
                if facts.setdefault(_file_name(place, fields), (line, fields))[0] != line:
                    raise Unusable("An earlier line is about the same photo.")
            except Unusable as reason:
                yield Rejected(line, str(reason))
    of_things: dict[tuple[PurePosixPath, str], Mapping[str, Any]] = {}
    for file_name, (_, fields) in facts.items():
        of_things.setdefault(_thing(file_name), fields)
    numbered = Counter(_thing(_file_key(each.path.relative_to(folder).as_posix())) for each in files)
    for each in files:
        if each in metadata:
            continue
        file_name = _file_key(each.path.relative_to(folder).as_posix())
        own = facts.pop(file_name, None)
        place, thing = _thing(file_name)
        shown = _folder_photo(
            each, thing, own[1] if own else of_things.get((place, thing), {}) if thing else {}
        )
        is_doubtful = not own and numbered[place, thing] == 1 and has_number(PurePosixPath(file_name))
        if isinstance(shown, PhotoRecord) and is_doubtful:
            shown = replace(shown, remark=f"It is taken for a photo of {thing}. {_ADVICE}")
        yield shown
    yield from (Rejected(line, "The photo is not there.") for line, _ in facts.values())


def _folder_photo(file: FolderFile, thing: str, fields: Mapping[str, Any]) -> PhotoRecord | Rejected:
    """`fields`: of the photo's own line, or of one about another photo of the same thing."""
    try:
        _check_kind(file, "photo")
        entity = fields.get("entity") or thing
        if not entity:
            raise Unusable(f"Its name does not say what it shows. Rename it, or add a line to {METADATA}.")
        attributes = fields.get("attributes") or {}
        others = {key: value for key, value in fields.items() if key not in _RESERVED}
        if others and not isinstance(attributes, dict):
            raise Unusable('"attributes" is not an object, and there are further fields.')
        whole = {**fields, "entity": entity, "attributes": {**others, **attributes} if others else attributes}
        return _photo_record(file.name, file.path, whole, file.origin)
    except Unusable as reason:
        return Rejected(file.name, str(reason))


def _file_name(place: PurePosixPath, fields: Mapping[str, Any]) -> str:
    given = fields.get("file_name")
    if not isinstance(given, str) or not given.strip():
        raise Unusable('"file_name" is missing.')
    return _file_key((place / given).as_posix())


def _file_key(name: str) -> str:
    """Return the name in Unicode's composed form: file systems write accents in two ways."""
    return unicodedata.normalize("NFC", PurePosixPath(name).as_posix())


def _thing(name: str) -> tuple[PurePosixPath, str]:
    """Return the folder, and the thing that the photo's name states; numbered photos of a thing share it."""
    path = PurePosixPath(name)
    return path.parent, thing_in(path)
