"""Ingestion: every record of a manifest into a new version, which readers see when it is whole."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Generic

import anyio
import anyio.to_thread

from chassis.errors import CollectionConflict
from chassis.http.calls import FilePart, Form, ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.collections import Indexed
from contracts.image_search import ImageItem, ImageItems
from contracts.text_search import Chunks
from corpus.folders import FolderFile
from corpus.items import Item, PageItem, PhotoItem, page_items, photo_items
from corpus.manifests import Rejected
from corpus.pipeline import Batching, OnRecord, Outcome, Pipeline, Progress, Remark, Tally
from corpus.records import count_photos, read_photos, read_pictures
from corpus.settings import write_token
from corpus.sources import (
    SourceName,
    count_records,
    files_of,
    has_files,
    is_page_file,
    manifest_digest,
    name_of,
    places_around,
)
from corpus.versions import CALL_MS, Patience, Version, sources_at

IMAGES = "images"
PAGES = "pages"
"""The aliases that readers name."""


class Index(StrEnum):
    """An index, by its alias."""

    IMAGES = IMAGES
    PAGES = PAGES

    @property
    def service(self) -> str:
        return "image_search" if self is Index.IMAGES else "text_search"


CHUNKS_A_CALL = 256
_PICTURES_A_CALL = 16 * 2**20
"""Bytes of the passages' pictures in one call."""

PHOTO_BATCHES = Batching[PhotoItem](weight=lambda item: item.size, most_weight=32 * 2**20, most_items=8)
PAGE_BATCHES = Batching[PageItem](
    weight=lambda item: len(item.chunks), most_weight=CHUNKS_A_CALL, most_items=64
)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """`replace`: the index is to hold this manifest alone; else it is added to what is published.

    `name`: of the source, if not its folder's. `sync`: documents that are not in the source any more go.

    `started` is called with the number of records, `progress` with the number of those that are done,
    `on_record` with each and its outcome. Searches use the new version only after the ingestion has ended.
    `ocr_url`: the service that reads pictures of pages.
    `token`: the service's write token; empty: the one that `write_token` finds.
    """

    replace: bool = False
    name: str = ""
    sync: bool = False
    started: Callable[[int], None] = lambda _: None
    progress: Progress = lambda _: None
    on_record: OnRecord = lambda where, outcome, reason: None
    ocr_url: str = ""
    patience: Patience = field(default_factory=Patience)
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Records by outcome; `version`: the one that was published, if any.

    `replaced`: documents that were in the index before, with another content. `removed`: documents that are
    not in the source any more. `not_named`: rejected records beside those that are named in `rejected`.
    `remarks`: on documents that were indexed, such as on pages that could not be read.
    """

    added: int
    replaced: int
    unchanged: int
    rejected: tuple[Rejected, ...]
    version: str | None
    removed: int = 0
    not_named: int = 0
    remarks: tuple[Remark, ...] = ()

    @classmethod
    def of(cls, tally: Tally, version: str | None, removed: int = 0) -> "IngestReport":
        return cls(
            added=tally.counts[Outcome.ADDED],
            replaced=tally.counts[Outcome.REPLACED],
            unchanged=tally.counts[Outcome.UNCHANGED],
            rejected=tuple(tally.rejected),
            version=version,
            removed=removed,
            not_named=tally.counts[Outcome.REJECTED] - len(tally.rejected),
            remarks=tuple(tally.remarks),
        )

    @property
    def indexed(self) -> int:
        return self.added + self.replaced


@dataclass(frozen=True, slots=True)
class Source(Generic[Item]):
    """A source of records. All functions block.

    `count`: the number of records. `digest`: changes when they change. `items`: the records, ready to send.
    `named`: whether addresses begin with the source's name; then two sources of one name would mix. `files`:
    their documents stay in the index even if they are rejected now. `covers`: whether a document with this
    address belongs to the part of the source that is indexed now.
    """

    count: Callable[[], int]
    digest: Callable[[], str]
    items: Callable[[], Iterator[Item | Rejected]]
    name: SourceName = field(default_factory=SourceName)
    named: bool = False
    files: Callable[[], Sequence[FolderFile]] = tuple
    covers: Callable[[str], bool] = lambda address: True


async def ingest_photos(manifest: Path, image_search_url: str, options: IngestOptions) -> IngestReport:
    """Index the photos of a JSONL manifest or of a folder. Raises `ManifestError` and `LoreglassError`."""
    name = await find_name(IMAGES, manifest, image_search_url, options)

    def digest() -> str:
        records = read_photos(manifest, name)
        return manifest_digest(manifest, (each.photo for each in records if not isinstance(each, Rejected)))

    source = Source(
        partial(count_photos, manifest),
        digest,
        partial(photo_items, manifest, name),
        name,
        named=True,
        files=partial(_files, manifest, name),
        covers=partial(_covers, manifest, name),
    )
    return await index_source(IMAGES, source, image_search_url, options)


async def ingest_pages(source: Path, text_search_url: str, options: IngestOptions) -> IngestReport:
    """Index the pages of a JSONL file, a page file or a folder. Raises as `ingest_photos` does."""
    name = await find_name(PAGES, source, text_search_url, options)
    pages = Source(
        partial(count_records, source),
        lambda: manifest_digest(source, read_pictures(source)),
        partial(page_items, source, name, options.ocr_url),
        name,
        named=has_named_pages(source),
        files=partial(_files, source, name),
        covers=partial(_covers, source, name),
    )
    return await index_source(PAGES, pages, text_search_url, options)


async def find_name(alias: str, source: Path, url: str, options: IngestOptions) -> SourceName:
    """Return the source's name; for a source inside a folder that is indexed already, that folder's.

    Raises `ManifestError` and `LoreglassError`.
    """
    name, around = await anyio.to_thread.run_sync(_names, source, options.name)
    if options.name or options.replace or not around:
        return name
    async with _service_of(alias, url, options) as service:
        names = await sources_at(service, alias, list(around), options.patience)
    return next((SourceName(names[each], each, around[each]) for each in around if each in names), name)


def _names(source: Path, given: str) -> tuple[SourceName, dict[str, str]]:
    """Return the source's own name, and `places_around` it, none of a JSONL file. Blocking."""
    name = name_of(source, given)
    if source.is_dir():
        files_of(source)  # raises `ManifestError` for an empty folder
    return name, places_around(source) if has_files(source) else {}


def has_named_pages(source: Path) -> bool:
    """Return whether pages have addresses made from names of files; lines of a manifest have URLs."""
    return source.is_dir() or is_page_file(source)


def _files(source: Path, name: SourceName) -> Sequence[FolderFile]:
    return files_of(source, name) if source.is_dir() else ()


def _covers(source: Path, name: SourceName, address: str) -> bool:
    if source.is_dir():
        return address.startswith(name.origin("").address)
    return not has_files(source) or address == name.origin(source.name).address


async def index_source(alias: str, source: Source[Item], url: str, options: IngestOptions) -> IngestReport:
    """Index photos or pages from anywhere. Raises `LoreglassError`, and what the source raises."""
    send, batching = SENDING[alias]
    async with _service_of(alias, url, options) as service:
        version = Version(service, alias, options.patience)
        options.started(await anyio.to_thread.run_sync(source.count))
        digest = await anyio.to_thread.run_sync(source.digest)
        await version.open(named_digest(digest, source.name, sync=options.sync), replace=options.replace)
        if source.named or options.sync:
            await require_own_name(version, source.name)
        write = partial(send, service, options.patience)
        pipeline = Pipeline[Item](version, write, options.progress, options.on_record)
        tally = await pipeline.run(batching.batches(source.items()))
        if not tally.written and not tally.counts[Outcome.UNCHANGED]:
            await version.abandon()  # an index is never replaced by an empty one
            return IngestReport.of(tally, None)
        removed = await _remove_others(version, source, pipeline.addresses) if options.sync else 0
        published = await version.publish()
        return IngestReport.of(tally, version.name if published else None, removed)


@asynccontextmanager
async def _service_of(alias: str, url: str, options: IngestOptions) -> AsyncIterator[ServiceClient]:
    async with http_client() as http:
        yield ServiceClient(http, Index(alias).service, url, token=options.token or write_token(url))


def named_digest(digest: str, name: SourceName, *, sync: bool) -> str:
    """Return the digest that names a version: it changes with the source, its name and the options."""
    return f"{digest}\n{name.name}\n{name.folder}\n{sync}"


async def require_own_name(version: Version, name: SourceName) -> None:
    """Raise `CollectionConflict` if the published index has another source of this name."""
    if name.place and await version.is_used_elsewhere(name.name, name.place):
        raise CollectionConflict(
            f'The index has documents of another source named "{name.name}". Use --name to give this source'
            f' another name, or --name "{name.name}" to write into that one.'
        )


async def _remove_others(version: Version, source: Source[Any], addresses: Set[str]) -> int:
    """Remove documents of the source that are neither among the addresses nor files of its folder."""
    files = await anyio.to_thread.run_sync(source.files)
    present = addresses | {each.origin.address for each in files if each.origin}
    held = filter(source.covers, await version.documents(source.name.name))
    gone = [each for each in held if each not in present]
    await version.remove(gone)
    return len(gone)


async def send_photos(
    service: ServiceClient, patience: Patience, version: str, items: Sequence[PhotoItem]
) -> Mapping[str, str]:
    """Write photos into a version, which reads them now; point id -> reason for what cannot be indexed."""
    files: list[FilePart] = []
    sent: list[ImageItem] = []
    unreadable: dict[str, str] = {}
    for each in items:
        try:
            content = await anyio.Path(each.photo).read_bytes()
        except OSError as error:
            unreadable[each.item.id] = f"The photo cannot be read ({error.strerror})."
            continue
        # The service looks at the bytes; a file's own name is nobody's business.
        files.append(("images", (each.item.id, content, "application/octet-stream")))
        sent.append(each.item)
    if not sent:
        return unreadable
    form = Form(files, {"items": ImageItems(items=sent).model_dump_json()})
    path = f"/v1/collections/{version}/images"
    reply = await patience.call(lambda: service.send("PUT", path, form, Indexed, Deadline.after_ms(CALL_MS)))
    return {**unreadable, **reply.rejected}


async def send_pages(
    service: ServiceClient, patience: Patience, version: str, items: Sequence[PageItem]
) -> Mapping[str, str]:
    """Pages go whole and in order: a call with a page's first passage replaces what was held of the page."""
    chunks = [chunk for item in items for chunk in item.chunks]
    path = f"/v1/collections/{version}/chunks"
    rejected: dict[str, str] = {}
    largest = max(len(chunk.image or b"") for chunk in chunks)
    step = min(CHUNKS_A_CALL, _PICTURES_A_CALL // (largest + 1))
    for start in range(0, len(chunks), step):
        body = Chunks(chunks=chunks[start : start + step])
        rejected.update((await patience.send(service, path, body, Indexed, method="PUT")).rejected)
    return rejected


SENDING: Mapping[
    str,
    tuple[
        Callable[[ServiceClient, Patience, str, Sequence[Any]], Awaitable[Mapping[str, str]]], Batching[Any]
    ],
] = {IMAGES: (send_photos, PHOTO_BATCHES), PAGES: (send_pages, PAGE_BATCHES)}
"""The function that writes records of an index into a version, and its batches."""
