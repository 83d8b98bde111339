"""Read photos from a folder or a manifest, one record at a time."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from chassis.vectors.port import Origin
from corpus.folders import FolderFile, file_in, has_number, thing_in
from corpus.formats.suffixes import PAGE_FORMATS
from corpus.jsonl import Rejected, Unusable, check_file, json_lines, record_fields, text_field, url_field
from corpus.manifests import (
    METADATA,
    PHOTO_SUFFIXES,
    count_records,
    files_of,
    is_photo_file,
    listed,
    name_of,
    require_existing,
    with_origins,
)
from corpus.sources import SourceName

LARGEST_PHOTO = 30 * 2**20
_ADVICE = f"If the number belongs to the name, say so in {METADATA}."
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
    suffix = file.path.suffix.lower()
    try:
        if file.fault:
            raise Unusable(file.fault)
        if suffix in PAGE_FORMATS:
            raise Unusable("This is a page. Index it with: loreglass index pages")
        if suffix not in PHOTO_SUFFIXES:
            raise Unusable(f"Unsupported file type. Photos can be {listed(PHOTO_SUFFIXES)}.")
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
