"""The stages of an ingestion on Ray: cut a source into parts, prepare records in tasks, write in actors."""

import pickle
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal

from chassis.errors import DependencyUnavailable, Internal, LoreglassError
from chassis.http.calls import ServiceClient, http_client
from corpus.ingest import PAGES, SENDING, Index
from corpus.items import prepare_page, prepare_photo
from corpus.manifests import ManifestError, Rejected, Span, spans
from corpus.pipeline import Outcome, Pipeline
from corpus.records import (
    PageRecord,
    PhotoRecord,
    page_files,
    page_of_file,
    read_pages,
    read_photos,
    read_pictures,
)
from corpus.sources import SourceName, is_page_file, manifest_digest, name_of
from corpus.versions import Patience, Version

PART_BYTES = 256 * 2**20
"""A part of a JSONL file has at most so many bytes and one line more."""
MOST_PARTS = 4_000
"""A version remembers the names of at most 8,192 parts."""

Content = Span | tuple[Any, ...]
"""Lines of a JSONL file of pages, or files (`FolderFile`), or photos (`PhotoRecord | Rejected`)."""
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Neighbouring records of a source. Its name is the same whenever the same source is cut alike."""

    name: str
    content: Content
    records: int


def cut(alias: str, source: Path, size: int, name: SourceName | None = None) -> tuple[list[Part], str]:
    """Return the parts, of `size` records at most, and the digest that the default engine makes.

    Raises `ManifestError`.
    """
    is_file = not source.is_dir() and not (alias == PAGES and is_page_file(source))
    if alias == PAGES and is_file:
        contents: list[Content] = list(spans(source, size, PART_BYTES))
        digest = manifest_digest(source, read_pictures(source))
    elif alias == PAGES:
        files = page_files(source, name or name_of(source))
        contents, digest = _batches(files, size), manifest_digest(source)
    else:
        photos = list(read_photos(source, name))
        digest = manifest_digest(source, (each.photo for each in photos if isinstance(each, PhotoRecord)))
        contents = _batches(photos, size)
    if len(contents) > MOST_PARTS:
        least = -(-len(contents) // MOST_PARTS) * size
        raise ManifestError(f"{source} has {len(contents):,} parts. Use --part-records {least} or more.")
    label = f"part-{{}}-of-{len(contents)}-by-{size}".format
    counts = [each.records if isinstance(each, Span) else len(each) for each in contents]
    return [Part(label(n), *each) for n, each in enumerate(zip(contents, counts, strict=True))], digest


def read(
    alias: str, source: Path, content: Content, name: SourceName | None = None
) -> Iterator[PageRecord | PhotoRecord | Rejected]:
    """Return the records of a part, in order."""
    if isinstance(content, Span):
        return read_pages(source, content, name)
    return map(page_of_file, content) if alias == PAGES else iter(content)


def _batches(values: Sequence[Any], size: int) -> list[Content]:
    left = iter(values)
    return list(iter(lambda: tuple(islice(left, size)), ()))


@dataclass(frozen=True, slots=True)
class Target:
    """The version that is filled, and the service that holds it."""

    alias: str
    url: str
    token: str
    digest: str
    replace: bool
    patience: Patience

    def client(self, http: Any) -> ServiceClient:
        return ServiceClient(http, Index(self.alias).service, self.url, token=self.token)


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of the record at `place` in part number `part`. `points`: its points in the index."""

    part: int
    place: int
    where: str
    outcome: Outcome
    reason: str
    points: int
    remarks: tuple[str, ...] = ()


def row_of(part: int, content: Content) -> Row:
    return {"part": part, "content": pickle.dumps(content)}


def prepare(
    row: Row, alias: str, source: Path, name: SourceName | None = None, ocr_url: str = ""
) -> Iterator[Row]:
    """Read the records of a row, and clean, cut and name them. CPU-bound."""
    make: Callable[[Any], Any] = partial(prepare_page, ocr_url=ocr_url) if alias == PAGES else prepare_photo
    try:
        source.stat()  # on a machine without it every file of a folder would be missing
        for place, record in enumerate(read(alias, source, pickle.loads(row["content"]), name)):
            try:
                item = make(record)
            except Exception as error:  # noqa: BLE001 - a record that our code did not expect
                item = Rejected(record.where, f"It could not be read ({type(error).__name__}).")
            yield {"part": row["part"], "place": place, "item": pickle.dumps(item)}
    except (OSError, ManifestError) as error:
        failure = DependencyUnavailable(f"A machine cannot read the source: {error}.")
        yield {"part": row["part"], "place": 0, "item": pickle.dumps(failure)}


class Claims:
    """The one actor that decides which of several records with one key is indexed: the first to claim it."""

    def __init__(self) -> None:
        self._claims = sqlite3.connect("")  # a temporary file where it outgrows the cache
        self._claims.execute("CREATE TABLE claims (key TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID")

    def claim(self, places: Mapping[str, str]) -> dict[str, str]:
        """Return for each key the place of the record that counts: the first that claimed it."""
        self._claims.executemany("INSERT OR IGNORE INTO claims VALUES (?, ?)", places.items())
        query = "SELECT place FROM claims WHERE key = ?"
        return {key: self._claims.execute(query, (key,)).fetchone()[0] for key in places}


class Writer:
    """Asks the service which points it lacks, and sends these."""

    def __init__(self, target: Target, claims: Any) -> None:
        self._target, self._claims = target, claims
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._version: Version | None = None

    def __call__(self, batch: Any) -> dict[str, list[bytes]]:
        """Write a pyarrow table of `prepare`'s rows; one row with a list of results, or a failure."""
        rows = batch.to_pylist()
        try:
            done: list[Result] | LoreglassError = self._portal.call(self._write, rows)
        except LoreglassError as error:
            done = error
        except Exception as error:  # noqa: BLE001 - it ends the run, and is no record's
            done = Internal(f"A process that writes has failed: {type(error).__name__}.")
        return {"done": [pickle.dumps(done)]}

    def _open(self) -> Version:
        target = self._target
        http = self._stack.enter_context(self._portal.wrap_async_context_manager(http_client()))
        self._service = target.client(http)
        version = Version(self._service, target.alias, target.patience)
        self._portal.call(lambda: version.open(target.digest, replace=target.replace))
        return version

    async def _write(self, rows: Sequence[Row]) -> list[Result]:
        items = [pickle.loads(row["item"]) for row in rows]
        for each in items:
            if isinstance(each, LoreglassError):
                raise each
        if self._version is None:
            self._version = await anyio.to_thread.run_sync(self._open)
        write, batching = SENDING[self._target.alias]
        refused: dict[str, str] = {}
        outcomes: dict[str, tuple[Outcome, str]] = {}

        async def send(version: str, fresh: Sequence[Any]) -> Mapping[str, str]:
            reasons = await write(self._service, self._target.patience, version, fresh)
            refused.update(reasons)
            return reasons

        def record(where: str, outcome: Outcome, reason: str) -> None:
            outcomes[where] = outcome, reason

        pipeline = Pipeline[Any](self._version, send, lambda _: None, record)
        await pipeline.run(batching.batches(iter(await self._without_duplicates(items))))
        return [
            Result(
                row["part"],
                row["place"],
                item.where,
                *outcomes[item.where],
                _points(item, outcomes, refused),
                () if isinstance(item, Rejected) else item.remarks,
            )
            for row, item in zip(rows, items, strict=True)
        ]

    async def _without_duplicates(self, items: Sequence[Any]) -> list[Any]:
        """Return the items, without those whose key another record holds."""
        places: dict[str, str] = {}
        for each in items:
            if not isinstance(each, Rejected):
                places.setdefault(each.key, each.where)
        holders: dict[str, str] = await self._claims.claim.remote(places)
        return [
            each
            if isinstance(each, Rejected) or holders[each.key] == each.where
            else Rejected(each.where, f"{each.repeated} {holders[each.key]}.")
            for each in items
        ]


def _points(item: Any, outcomes: Mapping[str, tuple[Outcome, str]], refused: Mapping[str, str]) -> int:
    if outcomes[item.where][0] is Outcome.REJECTED:
        return 0
    return sum(each not in refused for each in item.point_ids)
