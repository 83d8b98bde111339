"""Records made ready to send: cleaned and cut, with ids made from address and content."""

import base64
import hashlib
import json
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import ClassVar, TypeVar

from chassis.errors import LoreglassError
from chassis.images import ImageLimits, clean_image
from chassis.vectors.port import Origin
from contracts.image_search import ImageItem
from contracts.text_search import MOST_SECTIONS, Chunk
from corpus.chunking import cut_page
from corpus.manifests import Rejected, Unusable, check_file
from corpus.pages import NoContent, Page
from corpus.reading import read_page
from corpus.records import LARGEST_PHOTO, PageRecord, PhotoRecord, read_pages, read_photos
from corpus.sources import SourceName
from corpus.values import clean_attributes

MUCH_LEFT_OUT = 0.5
"""The share of a page's text, left out as boilerplate, from which the report names it."""
PICTURE_SIDE = 512
"""Pixels of the longest side of a page's picture: a model reads it once with each passage."""
CONTENT_IDS = uuid.UUID("6c1c6bd2-2f3b-5a6f-9d55-0f7c2f6b7a11")
"""Namespace of the ids below (UUID version 5, RFC 9562)."""


@dataclass(frozen=True, slots=True)
class PhotoItem:
    """A photo to be indexed. Its bytes are read again when they are sent, so that few are held at once."""

    where: str
    photo: Path
    size: int
    item: ImageItem
    remarks: tuple[str, ...] = ()

    repeated: ClassVar[str] = "This photo is already at"

    @property
    def point_ids(self) -> list[str]:
        return [self.item.id]

    @property
    def key(self) -> str:
        """Return its address, unique in an index: of several records with one key the first counts."""
        return self.item.address


@dataclass(frozen=True, slots=True)
class PageItem:
    """A page to be indexed, as its passages in order. `remarks`: what the report says of it."""

    where: str
    chunks: tuple[Chunk, ...]
    remarks: tuple[str, ...] = ()

    repeated: ClassVar[str] = "This URL is already at"

    @property
    def point_ids(self) -> list[str]:
        return [chunk.id for chunk in self.chunks]

    @property
    def key(self) -> str:
        return self.chunks[0].address


Item = TypeVar("Item", PhotoItem, PageItem)


def photo_items(manifest: Path, name: SourceName | None = None) -> Iterator[PhotoItem | Rejected]:
    """Yield the photos of a manifest or folder; of several with one address the first counts. Blocking."""
    return _once(map(prepare_photo, read_photos(manifest, name)))


def page_items(
    source: Path, name: SourceName | None = None, ocr_url: str = ""
) -> Iterator[PageItem | Rejected]:
    """Yield the pages of a file or folder; of several lines with one URL the first counts. CPU-bound."""
    return _once(prepare_page(each, ocr_url) for each in read_pages(source, name=name))


def page_item(
    where: str,
    page: Page,
    texts: Sequence[str],
    origin: Origin | None = None,
    sections: Sequence[Sequence[str]] = (),
    picture: bytes | None = None,
) -> PageItem:
    """A page whose passages are these texts, without the characters that only hide things.

    Its address is its URL, unless it has an `origin` with another one. `sections`: of each passage, the lines
    that name sections. `picture`: a JPEG that the page shows, which goes with each passage.
    """
    origin = origin or Origin("")
    address = origin.address or page.url
    title, texts = visible(page.title), [visible(text) for text in texts]
    modified = page.last_modified.isoformat() if page.last_modified else ""
    # Every id depends on the whole page, so that a page with one changed sentence is sent as a whole.
    picture_digest = [hashlib.sha256(picture).hexdigest()] if picture else []
    content = json.dumps([address, page.url, title, modified, texts, *picture_digest])
    page_digest = hashlib.sha256(content.encode()).hexdigest()
    encoded = base64.b64encode(picture) if picture else None
    boilerplate = f"{page.left_out:.0%} of its text was left out as menus, notices and the like."
    return PageItem(
        where=where,
        remarks=(*page.remarks, boilerplate) if page.left_out >= MUCH_LEFT_OUT else page.remarks,
        chunks=tuple(
            Chunk(
                id=content_id(page_digest, str(position)),
                url=page.url,
                title=title,
                text=text,
                position=position,
                last_modified=page.last_modified,
                sections=[visible(each) for each in named[:MOST_SECTIONS]],
                address=address,
                source=origin.source,
                origin=origin.place,
                image=encoded,
            )
            for position, (text, named) in enumerate(zip_longest(texts, sections, fillvalue=()))
        ),
    )


def visible(text: str) -> str:
    """Without Unicode's format characters (zero-width, bidirectional, tags): they only hide things."""
    return text if text.isascii() else "".join(c for c in text if unicodedata.category(c) != "Cf")


def content_id(*parts: str) -> str:
    """Return the same UUID for the same parts, always."""
    return str(uuid.uuid5(CONTENT_IDS, json.dumps(parts)))


def _once(items: Iterable[Item | Rejected]) -> Iterator[Item | Rejected]:
    places: dict[str, str] = {}
    for each in items:
        if not isinstance(each, Rejected):
            earlier = places.setdefault(each.key, each.where)
            yield each if earlier == each.where else Rejected(each.where, f"{each.repeated} {earlier}.")
        else:
            yield each


def prepare_photo(record: PhotoRecord | Rejected) -> PhotoItem | Rejected:
    """Return a record from anywhere, ready to send. Blocking."""
    if isinstance(record, Rejected):
        return record
    try:
        with record.photo.open("rb") as stream:
            photo_digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size = record.photo.stat().st_size
    except OSError as error:
        return Rejected(record.where, f"The photo cannot be read ({error.strerror}).")
    cleaned = clean_attributes(record.attributes)
    attributes = {visible(key): visible(value) for key, value in cleaned.items()}
    entity, title = visible(record.entity), visible(record.title)
    facts = json.dumps(attributes, sort_keys=True)
    origin = record.origin or Origin(f"file:{content_id(photo_digest, entity)}")
    item = ImageItem(
        id=content_id(photo_digest, origin.address, entity, facts, title, record.url),
        entity=entity,
        attributes=attributes,
        title=title,
        url=record.url,
        address=origin.address,
        source=origin.source,
        origin=origin.place,
    )
    return PhotoItem(record.where, record.photo, size, item, (record.remark,) if record.remark else ())


def prepare_page(record: PageRecord | Rejected, ocr_url: str = "") -> PageItem | Rejected:
    """Return a record from anywhere, read, cut and ready to send. CPU-bound."""
    if isinstance(record, Rejected):
        return record
    try:
        page = read_page(record, ocr_url)
    except NoContent as reason:
        return Rejected(record.where, str(reason))
    picture = None
    if record.image:
        try:
            picture = _picture(record.image)
        except (Unusable, LoreglassError) as reason:
            page = replace(page, remarks=(*page.remarks, f"Its image was left out: {reason}"))
    passages = cut_page(page)
    texts, sections = [each.text for each in passages], [each.sections for each in passages]
    return page_item(record.where, page, texts, record.origin, sections, picture)


def _picture(path: Path) -> bytes:
    """Return a page's picture as a small JPEG. Raises `Unusable`, or what `clean_image` raises."""
    check_file(path, LARGEST_PHOTO, "image")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Unusable(f"The image cannot be read ({error.strerror}).") from error
    return clean_image(content, ImageLimits(), PICTURE_SIDE).jpeg
