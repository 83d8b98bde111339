"""Records made ready to send: cleaned, cut, and named by their content."""

import hashlib
import json
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from contracts.image_search import ImageItem
from contracts.text_search import Chunk
from corpus.attributes import clean_attributes
from corpus.chunking import chunk_page
from corpus.extraction import NoContent, extract_page
from corpus.manifests import PageRecord, PhotoRecord, Rejected, read_pages, read_photos
from corpus.pages import Page

CONTENT_IDS = uuid.UUID("6c1c6bd2-2f3b-5a6f-9d55-0f7c2f6b7a11")
"""Namespace of the ids below (UUID version 5, RFC 9562)."""


@dataclass(frozen=True, slots=True)
class PhotoItem:
    """A photo to be indexed. Its bytes are read again when they are sent, so that few are held at once."""

    where: str
    photo: Path
    size: int
    item: ImageItem

    @property
    def point_ids(self) -> list[str]:
        """What it becomes in the index."""
        return [self.item.id]


@dataclass(frozen=True, slots=True)
class PageItem:
    """A page to be indexed, as its passages in order."""

    where: str
    chunks: tuple[Chunk, ...]

    @property
    def point_ids(self) -> list[str]:
        """What it becomes in the index."""
        return [chunk.id for chunk in self.chunks]


Item = TypeVar("Item", PhotoItem, PageItem)


def photo_items(manifest: Path) -> Iterator[PhotoItem | Rejected]:
    """The photos of a manifest or folder; one that is listed twice is there once. Blocking."""
    return items_of_photos(read_photos(manifest))


def items_of_photos(records: Iterable[PhotoRecord | Rejected]) -> Iterator[PhotoItem | Rejected]:
    """The same for records from anywhere."""
    seen: dict[str, str] = {}
    for record in records:
        made = record if isinstance(record, Rejected) else _photo_item(record)
        if not isinstance(made, Rejected):
            made = _unless_seen(made, made.item.id, seen, "This photo is")
        yield made


def page_items(source: Path) -> Iterator[PageItem | Rejected]:
    """The pages of a file or folder; of several with one URL the first counts. CPU-bound."""
    seen: dict[str, str] = {}
    for record in read_pages(source):
        made = record if isinstance(record, Rejected) else _page_item(record)
        if not isinstance(made, Rejected):
            made = _unless_seen(made, made.chunks[0].url, seen, "This URL is")
        yield made


def page_item(where: str, page: Page, texts: Sequence[str]) -> PageItem:
    """A page whose passages are these texts, without the characters that only hide things."""
    title, texts = visible(page.title), [visible(text) for text in texts]
    modified = page.last_modified.isoformat() if page.last_modified else ""
    # Every id depends on the whole page, so that a page with one changed sentence is sent as a whole.
    told = json.dumps([page.url, title, modified, texts])
    page_digest = hashlib.sha256(told.encode()).hexdigest()
    return PageItem(
        where=where,
        chunks=tuple(
            Chunk(
                id=content_id(page_digest, str(position)),
                url=page.url,
                title=title,
                text=text,
                position=position,
                last_modified=page.last_modified,
            )
            for position, text in enumerate(texts)
        ),
    )


def visible(text: str) -> str:
    """Without Unicode's format characters (zero-width, bidirectional, tags): they only hide things."""
    return text if text.isascii() else "".join(c for c in text if unicodedata.category(c) != "Cf")


def content_id(*parts: str) -> str:
    """The same UUID for the same parts, always."""
    return str(uuid.uuid5(CONTENT_IDS, json.dumps(parts)))


def _unless_seen(made: Item, key: str, seen: dict[str, str], what: str) -> Item | Rejected:
    earlier = seen.setdefault(key, made.where)
    return made if earlier == made.where else Rejected(made.where, f"{what} already at {earlier}.")


def _photo_item(record: PhotoRecord) -> PhotoItem | Rejected:
    try:
        with record.photo.open("rb") as stream:
            photo_digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = record.photo.stat().st_size
    except OSError as error:
        return Rejected(record.where, f"The photo cannot be read ({error.strerror}).")
    cleaned = clean_attributes(record.attributes)
    attributes = {visible(key): visible(value) for key, value in cleaned.items()}
    entity, title = visible(record.entity), visible(record.title)
    told = json.dumps(attributes, sort_keys=True)
    item = ImageItem(
        id=content_id(photo_digest, entity, told, title, record.url),
        entity=entity,
        attributes=attributes,
        title=title,
        url=record.url,
    )
    return PhotoItem(record.where, record.photo, size, item)


def _page_item(record: PageRecord) -> PageItem | Rejected:
    try:
        page = extract_page(record)
    except NoContent as reason:
        return Rejected(record.where, str(reason))
    return page_item(record.where, page, chunk_page(page))
