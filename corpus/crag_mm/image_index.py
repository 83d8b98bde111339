"""CRAG-MM's image index to photos of known things: pictures from a local folder or from where they are."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from chassis.picture_cache import PictureCache
from chassis.vectors.origin import Origin
from corpus.attributes import clean_markup, plain_text
from corpus.crag_mm.chroma import ChromaCollection, ChromaRecord
from corpus.ingest import Source
from corpus.items import PhotoItem, items_of_photos
from corpus.jsonl import Rejected
from corpus.photo_records import PhotoRecord
from corpus.values import web_url

COLLECTION = "image_embeddings"
PICTURES_AT_ONCE = 16
"""Rows whose pictures are fetched together; an interrupted import waits for as many."""
_LONGEST_ENTITY = 1024


@dataclass(frozen=True, slots=True)
class Pictures:
    """Where an index's pictures are: `local`, under the last part of their URL; else in the cache, which may
    `fetch` what it does not hold.
    """

    cache: PictureCache
    local: Path | None = None
    fetch: bool = True


@dataclass(frozen=True, slots=True)
class _Shown:
    """A row: one picture, and what is known of each entity in it."""

    where: str
    url: str
    entities: Mapping[str, Mapping[str, Any] | str]


class _BadRow(Exception):
    """Why one row is rejected."""


def image_source(folder: Path, pictures: Pictures) -> Source[PhotoItem]:
    """Every entity of every picture, with its attributes cleaned. The published vectors are not used: the
    service that indexes the pictures makes its own.
    """
    collection = ChromaCollection(folder, COLLECTION)
    return Source(
        count=lambda: sum(1 for _ in _rows(collection, None)),
        digest=collection.digest,
        items=lambda: items_of_photos(_rows(collection, pictures)),
    )


def _rows(collection: ChromaCollection, pictures: Pictures | None) -> Iterator[PhotoRecord | Rejected]:
    """Without `pictures` each is named only by its URL: that is enough to count."""
    records = collection.records()
    while batch := [_shown(record) for record in islice(records, PICTURES_AT_ONCE)]:
        urls = [each.url for each in batch if isinstance(each, _Shown)]
        found = find_pictures(urls, pictures) if pictures else {url: Path() for url in urls}
        for each in batch:
            if isinstance(each, Rejected):
                yield each
            else:
                yield from _photos(each, found[each.url])


def _photos(shown: _Shown, picture: Path | str) -> Iterator[PhotoRecord | Rejected]:
    for entity, attributes in shown.entities.items():
        if isinstance(picture, str):
            yield Rejected(shown.where, f"{picture} ({plain_text(shown.url)})")
        else:
            url = web_url(shown.url)
            origin = Origin(f"{url}#{quote(entity)[:1000]}")
            yield PhotoRecord(shown.where, picture, entity, attributes, url=url, origin=origin)


def find_pictures(urls: list[str], pictures: Pictures) -> Mapping[str, Path | str]:
    """Return each picture's file, or a sentence on why there is none. Raises `OSError`."""
    found: dict[str, Path | str] = {}
    for url in urls:
        held = _local(url, pictures.local) or pictures.cache.held(url)
        found[url] = held or "The picture is not here, and nothing is to be fetched."
    if pictures.fetch:
        found.update(pictures.cache.fetch(url for url, held in found.items() if isinstance(held, str)))
    return found


def _local(url: str, folder: Path | None) -> Path | None:
    """The picture under the last part of its URL, as it stands there or decoded."""
    if folder is None:
        return None
    name = urlsplit(url).path.rpartition("/")[2]
    for spelled in dict.fromkeys((name, unquote(name))):
        if spelled in ("", ".", "..") or "/" in spelled or "\0" in spelled:
            continue
        path = folder / spelled
        try:
            if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
                return path
        except OSError:  # no file can have such a name: percent-encoded, it may be too long
            continue
    return None


def _shown(record: ChromaRecord) -> _Shown | Rejected:
    where = f"image {plain_text(record.id[:100])}"
    try:
        url = record.metadata.get("image_url")
        if not isinstance(url, str) or not _is_web(url):
            raise _BadRow("image_url is not an http or https URL.")
        names = _json(record, "entities")
        info = _json(record, "info")
        if not isinstance(info, dict):
            raise _BadRow("info is not an object.")
        entities: dict[str, Mapping[str, Any] | str] = {}
        for name in names if isinstance(names, list) else [names]:
            entity = _entity(name)
            entities[entity] = _attributes(info.get(name))
        if not entities:
            raise _BadRow("No entity is named.")
    except _BadRow as reason:
        return Rejected(where, str(reason))
    return _Shown(where, url.strip(), entities)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _entity(name: object) -> str:
    cleaned = clean_markup(name) if isinstance(name, str) else ""
    if not cleaned or len(cleaned) > _LONGEST_ENTITY:
        raise _BadRow("An entity has no name, or one that is too long.")
    return cleaned


def _attributes(info: object) -> Mapping[str, Any] | str:
    if info is None:
        return {}
    if not isinstance(info, dict | str):
        raise _BadRow("The attributes of an entity are neither an object nor a text.")
    return info


def _json(record: ChromaRecord, key: str) -> Any:
    held = record.metadata.get(key)
    if not isinstance(held, str):
        raise _BadRow(f"{key} is missing.")
    try:
        return json.loads(held)
    except (ValueError, RecursionError):
        raise _BadRow(f"{key} is not JSON.") from None
