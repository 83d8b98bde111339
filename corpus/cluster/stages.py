"""The stages of an ingestion as Ray's actors: prepared, the first of each key, written.

A row of Ray's is a block, its contents pickled: what one of our processes hands to the next.
"""

import asyncio
import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chassis.errors import DependencyUnavailable, Internal, LoreglassError
from chassis.http.calls import ServiceClient, http_client
from corpus.cluster.parts import Block, one_by_one, prepared, where_of
from corpus.ingest import IMAGES, PAGES, send_pages, send_photos
from corpus.items import PageItem, PhotoItem, unless_seen
from corpus.jsonl import ManifestError, Rejected
from corpus.pipeline import Outcome, Pipeline
from corpus.versions import Patience, Version

KEY_BYTES = 16
Keys = npt.NDArray[np.bytes_]
"""(n,) of S16, sorted: digests of the keys of records that are in the index."""
Row = dict[str, Any]
_UNEXPECTED = "It could not be read ({})."
Embedder = Callable[[], AbstractAsyncContextManager[str]]
"""Opens a search service in this process, and gives its address."""


@dataclass(frozen=True, slots=True)
class Target:
    """Which version is filled, and where: `url` of the service that holds it, or `embedder` in its place."""

    alias: str
    url: str
    token: str
    digest: str
    replace: bool
    patience: Patience
    embedder: Embedder | None = None

    @property
    def service(self) -> str:
        """Its name."""
        return "image_search" if self.alias == IMAGES else "text_search"


@dataclass(frozen=True, slots=True)
class Done:
    """A record that is in the index: `points` of it, one of which is `sample`; `key` is a digest."""

    where: str
    outcome: Outcome
    key: bytes
    points: int
    sample: str


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a block, or the failure that ends the run: a service's or a machine's."""

    done: tuple[Done, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    failure: LoreglassError | None = None


class Preparing:
    """Reads, cleans and cuts; a pool of them uses the processors."""

    def __init__(self, alias: str, source: Path) -> None:
        self._pages, self._source = alias == PAGES, source

    def __call__(self, row: Row) -> Row:
        """`block` becomes `items`, or the failure that ends the run in their place."""
        block: Block = pickle.loads(row["block"])
        items: list[Any] | LoreglassError
        try:
            self._source.stat()  # on a machine without it, every file of a folder would be missing
            items = self._prepared(block)
        except (OSError, ManifestError) as error:
            items = DependencyUnavailable(f"A machine cannot read the source: {error}.")
        return {"index": row["index"], "items": pickle.dumps(items)}

    def _prepared(self, block: Block) -> list[Any]:
        try:
            return list(prepared(self._pages, self._source, block))
        except (OSError, ManifestError):
            raise
        except Exception as error:  # noqa: BLE001 - a record that our code did not expect
            singles = one_by_one(self._source, block)
            if len(singles) > 1:
                return [item for single in singles for item in self._prepared(single)]
            return [Rejected(where_of(each), _UNEXPECTED.format(type(error).__name__)) for each in singles]


class First:
    """Of several records with one key the first counts. There is one of it, and blocks come in order.

    A new one that takes its place after a kill knows nothing of what the old one saw: who collects what
    became of the blocks finds two records of one key then, and has the part gone through again.
    """

    def __init__(self, earlier: Sequence[Any]) -> None:
        """`earlier`: references to the `Keys` of the parts before this one."""
        import ray

        self._earlier: Keys = np.concatenate([np.empty(0, f"S{KEY_BYTES}"), *ray.get(list(earlier))])
        self._earlier.sort(kind="stable")  # quick where pieces are sorted already
        self._seen: dict[str, str] = {}

    def __call__(self, row: Row) -> Row:
        """`items` without those whose key was there."""
        items = pickle.loads(row["items"])
        if isinstance(items, LoreglassError):
            return row
        digests = [b"" if isinstance(each, Rejected) else key_digest(each.key) for each in items]
        held = held_keys(self._earlier, digests)
        checked = [self._checked(item, bool(there)) for item, there in zip(items, held, strict=True)]
        return {"index": row["index"], "items": pickle.dumps(checked)}

    def _checked(self, item: Any, held: bool) -> Any:
        if isinstance(item, Rejected):
            return item
        if held:
            return Rejected(item.where, f"{item.repeated} an earlier place.")
        return unless_seen(item, self._seen)


class Maker:
    """Makes the version when the first record turns out to be new: one for all who write."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._made = asyncio.Lock()
        self._name = ""

    async def ensure(self) -> str:
        """Its name, once the service has it."""
        async with self._made, http_client() as http:
            if not self._name:
                version = Version(
                    _client(http, self._target, self._target.url), self._target.alias, self._target.patience
                )
                await version.open(self._target.digest, replace=self._target.replace)
                self._name = await version.ensure()
            return self._name


class _SharedVersion(Version):
    """A version that somebody else makes."""

    def __init__(self, service: ServiceClient, target: Target, maker: Any) -> None:
        super().__init__(service, target.alias, target.patience)
        self._maker = maker

    async def _create(self) -> None:
        from ray.exceptions import RayTaskError

        try:
            await self._maker.ensure.remote()
        except RayTaskError as error:
            if isinstance(error.cause, LoreglassError):
                raise error.cause from error
            raise


class Writing:
    """Asks what the index lacks and sends it; with an `embedder` in this process, which may have a card."""

    def __init__(self, target: Target, maker: Any) -> None:
        self._target = target
        self._loop = asyncio.Runner()
        self._ending = asyncio.Event()
        self._version: Version
        self._service: ServiceClient
        self._failure: LoreglassError | None = None
        try:
            self._loop.run(self._open(maker))
        except Exception as error:  # noqa: BLE001 - told with the first block: Ray says only that it died
            self._failure = _failure(error)

    async def _open(self, maker: Any) -> None:
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._holding = asyncio.create_task(self._hold(maker, opened))
        await asyncio.wait([self._holding, opened], return_when=asyncio.FIRST_COMPLETED)
        if self._holding.done():
            await self._holding

    async def _hold(self, maker: Any, opened: asyncio.Future[None]) -> None:
        """Open, and close in the same task: what a task group is in may not leave it from another one."""
        target = self._target
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(http_client())
            url = await stack.enter_async_context(target.embedder()) if target.embedder else target.url
            self._service = _client(http, target, url)
            self._version = _SharedVersion(self._service, target, maker)
            await self._version.open(target.digest, replace=target.replace)
            opened.set_result(None)
            await self._ending.wait()

    def __enter__(self) -> "Writing":
        return self

    def __exit__(self, *_: object) -> None:
        """Close what it opened; an actor's process ends without."""
        self._loop.run(self._close())
        self._loop.close()

    async def _close(self) -> None:
        self._ending.set()
        await asyncio.wait([self._holding])

    def __call__(self, row: Row) -> Row:
        """`items` become `written`."""
        items = pickle.loads(row["items"])
        failure = items if isinstance(items, LoreglassError) else self._failure
        written = self._loop.run(self._write(items)) if failure is None else Written(failure=failure)
        return {"index": row["index"], "written": pickle.dumps(written)}

    async def _write(self, items: list[Any]) -> Written:
        outcomes: dict[str, Outcome] = {}
        refused: dict[str, str] = {}

        async def send(version: str, fresh: Sequence[Any]) -> Mapping[str, str]:
            sending = send_pages if self._target.alias == PAGES else send_photos
            found = await sending(self._service, self._target.patience, version, fresh)
            refused.update(found)
            return found

        def told(where: str, outcome: Outcome, _: str) -> None:
            outcomes[where] = outcome

        pipeline = Pipeline[Any](self._version, send, lambda _: None, told)
        try:
            tally = await pipeline.run(iter([items]))
        except Exception as error:  # noqa: BLE001 - what ends the run and is no record's
            return Written(failure=_failure(error))
        done = [
            _done(each, outcomes[each.where], refused)
            for each in items
            if not isinstance(each, Rejected) and outcomes[each.where] is not Outcome.REJECTED
        ]
        return Written(tuple(done), tuple(tally.rejected))


def key_digest(key: str) -> bytes:
    """What is kept of a key."""
    return hashlib.blake2b(key.encode(errors="replace"), digest_size=KEY_BYTES).digest()


def held_keys(keys: Keys, wanted: Sequence[bytes]) -> npt.NDArray[np.bool_]:
    """(n,): which of n digests are among the sorted `keys`."""
    sought = np.array(wanted, dtype=f"S{KEY_BYTES}")
    begin, end = (np.searchsorted(keys, sought, side) for side in ("left", "right"))
    return begin < end


def _failure(error: Exception) -> LoreglassError:
    if isinstance(error, LoreglassError):
        return error
    return Internal(f"A process that writes has failed: {type(error).__name__}.")


def _done(item: PageItem | PhotoItem, outcome: Outcome, refused: Mapping[str, str]) -> Done:
    held = [each for each in item.point_ids if each not in refused]
    return Done(item.where, outcome, key_digest(item.key), len(held), held[0])


def _client(http: Any, target: Target, url: str) -> ServiceClient:
    return ServiceClient(http, target.service, url, token=target.token)
