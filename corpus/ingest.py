"""Ingestion: every record of a manifest into a new version, which readers see when it is whole."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic

import anyio
import anyio.to_thread

from chassis.http.calls import ServiceClient, http_client
from chassis.http.multipart import FilePart
from chassis.resilience.deadlines import Deadline
from contracts.collections import Indexed
from contracts.image_search import ImageItem, ImageItems
from contracts.text_search import Chunks
from corpus.items import Item, PageItem, PhotoItem, page_items, photo_items
from corpus.manifests import Rejected, count_photos, count_records, manifest_digest, read_photos
from corpus.pipeline import Batching, Pipeline, Progress, Told
from corpus.settings import write_token
from corpus.versions import CALL_MS, Patience, Version

IMAGES = "images"
PAGES = "pages"
"""The aliases that readers name."""

CHUNKS_A_CALL = 256

PHOTO_BATCHES = Batching[PhotoItem](weight=lambda item: item.size, most_weight=32 * 2**20, most_items=8)
PAGE_BATCHES = Batching[PageItem](
    weight=lambda item: len(item.chunks), most_weight=CHUNKS_A_CALL, most_items=64
)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """`replace`: the index is to hold this manifest alone; else it is added to what is published.

    `started` is told how many records there are, `progress` how many are done, `told` what became of each. It
    is in the index once the ingestion has ended; readers see nothing of it before. `token`: what the services
    ask those for who write.
    """

    replace: bool = False
    started: Callable[[int], None] = lambda _: None
    progress: Progress = lambda _: None
    told: Told = lambda where, outcome, reason: None
    patience: Patience = field(default_factory=Patience)
    token: str = field(default_factory=write_token, repr=False)


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Records by what became of them; `version` is the one that was published, if one was.

    `not_named`: rejected records beside those that are named in `rejected`.
    """

    indexed: int
    unchanged: int
    rejected: tuple[Rejected, ...]
    version: str | None
    not_named: int = 0


@dataclass(frozen=True, slots=True)
class Source(Generic[Item]):
    """Where records come from. All three block: `count` them, give a `digest` that changes when they do, and
    make them into `items`, one at a time.
    """

    count: Callable[[], int]
    digest: Callable[[], str]
    items: Callable[[], Iterator[Item | Rejected]]


async def ingest_photos(manifest: Path, image_search_url: str, options: IngestOptions) -> IngestReport:
    """Index the photos of a JSONL manifest or of a folder. Raises `ManifestError` and `LoreglassError`."""

    def digest() -> str:
        records = read_photos(manifest)
        return manifest_digest(manifest, (each.photo for each in records if not isinstance(each, Rejected)))

    source = Source(partial(count_photos, manifest), digest, partial(photo_items, manifest))
    return await index_photos(source, image_search_url, options)


async def ingest_pages(source: Path, text_search_url: str, options: IngestOptions) -> IngestReport:
    """Index the pages of a JSONL file, a page file or a folder. Raises as `ingest_photos` does."""
    pages = Source(
        partial(count_records, source), partial(manifest_digest, source), partial(page_items, source)
    )
    return await index_pages(pages, text_search_url, options)


async def index_photos(
    source: Source[PhotoItem], image_search_url: str, options: IngestOptions
) -> IngestReport:
    """Index photos from anywhere. Raises `LoreglassError`, and what the source raises."""
    async with http_client() as http:
        service = ServiceClient(http, "image_search", image_search_url, token=options.token)

        async def send(version: str, items: Sequence[PhotoItem]) -> Mapping[str, str]:
            return await send_photos(service, options.patience, version, items)

        version = Version(service, IMAGES, options.patience)
        pipeline = Pipeline[PhotoItem](version, send, options.progress, options.told)
        options.started(await anyio.to_thread.run_sync(source.count))
        await version.open(await anyio.to_thread.run_sync(source.digest), replace=options.replace)
        await pipeline.run(PHOTO_BATCHES.batches(source.items()))
        return await _finish(pipeline, version)


async def index_pages(source: Source[PageItem], text_search_url: str, options: IngestOptions) -> IngestReport:
    """Index pages from anywhere. Raises as `index_photos` does."""
    async with http_client() as http:
        service = ServiceClient(http, "text_search", text_search_url, token=options.token)

        async def send(version: str, items: Sequence[PageItem]) -> Mapping[str, str]:
            return await send_pages(service, options.patience, version, items)

        version = Version(service, PAGES, options.patience)
        pipeline = Pipeline[PageItem](version, send, options.progress, options.told)
        options.started(await anyio.to_thread.run_sync(source.count))
        await version.open(await anyio.to_thread.run_sync(source.digest), replace=options.replace)
        await pipeline.run(PAGE_BATCHES.batches(source.items()))
        return await _finish(pipeline, version)


async def _finish(pipeline: Pipeline[PhotoItem] | Pipeline[PageItem], version: Version) -> IngestReport:
    """Publish, unless there is nothing to see: an index is never replaced by an empty one."""
    tally = pipeline.tally
    published = False
    if tally.indexed or tally.unchanged:
        published = await version.publish()
    else:
        await version.abandon()
    return IngestReport(
        indexed=tally.indexed,
        unchanged=tally.unchanged,
        rejected=tuple(tally.rejected),
        version=version.name if published else None,
    )


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
    fields = {"items": ImageItems(items=sent).model_dump_json()}
    path = f"/v1/collections/{version}/images"
    rejected = await _indexed(
        patience,
        lambda: service.send_multipart(
            path, files, fields, Indexed, Deadline.after_ms(CALL_MS), method="PUT"
        ),
    )
    return {**unreadable, **rejected}


async def send_pages(
    service: ServiceClient, patience: Patience, version: str, items: Sequence[PageItem]
) -> Mapping[str, str]:
    """Pages go whole and in order: a call with a page's first passage replaces what was held of the page."""
    chunks = [chunk for item in items for chunk in item.chunks]
    path = f"/v1/collections/{version}/chunks"
    rejected: dict[str, str] = {}
    for start in range(0, len(chunks), CHUNKS_A_CALL):
        body = Chunks(chunks=chunks[start : start + CHUNKS_A_CALL])

        async def put(body: Chunks = body) -> Indexed:
            return await service.send_json("PUT", path, body, Indexed, Deadline.after_ms(CALL_MS))

        rejected.update(await _indexed(patience, put))
    return rejected


async def _indexed(patience: Patience, put: Callable[[], Awaitable[Indexed]]) -> Mapping[str, str]:
    return (await patience.call(put)).rejected
