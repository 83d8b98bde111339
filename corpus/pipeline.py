"""The way of every record: made ready in a thread, asked about, sent if it is new, counted."""

import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from chassis.errors import LoreglassError
from contracts.errors import ErrorKind
from corpus.items import Item
from corpus.manifests import Rejected
from corpus.versions import Version

Batch = Sequence[Item | Rejected]
Progress = Callable[[int], None]
"""Called with the number of records that are done."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A note for the user about a record that was indexed."""

    where: str
    text: str


class Outcome(StrEnum):
    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"


OnRecord = Callable[[str, Outcome, str], None]
"""Called with each record that is done: its place, its outcome, and why it was rejected, or remarks on it."""

WORKERS = 2
"""Batches under way at once: one is made ready here while the service works on another."""

_FAULT_OF_A_RECORD = frozenset(
    {
        ErrorKind.MALFORMED_REQUEST,
        ErrorKind.INVALID_REQUEST,
        ErrorKind.PAYLOAD_TOO_LARGE,
        ErrorKind.UNSUPPORTED_IMAGE,
        ErrorKind.CORRUPT_IMAGE,
        ErrorKind.IMAGE_TOO_LARGE,
        ErrorKind.INTERNAL,
    }
)


@dataclass(slots=True)
class Tally:
    """Counts of the records so far, by outcome. `points`: theirs in the index, where they are counted.

    `rejected` and `remarks`: at most `most_named` of each.
    """

    most_named: int = sys.maxsize
    counts: Counter[Outcome] = field(default_factory=Counter)
    points: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def written(self) -> int:
        """Records that are in the index and were not before."""
        return self.counts[Outcome.ADDED] + self.counts[Outcome.REPLACED]

    def add(self, where: str, outcome: Outcome, reason: str) -> None:
        self.counts[outcome] += 1
        if outcome is Outcome.REJECTED and len(self.rejected) < self.most_named:
            self.rejected.append(Rejected(where, reason))

    def remark(self, where: str, texts: Sequence[str]) -> None:
        remarks = [Remark(where, text) for text in texts]
        self.remarks += remarks[: self.most_named - len(self.remarks)]


@dataclass(frozen=True)
class Batching(Generic[Item]):
    """Bounds of one request: `most_items`, and `most_weight` as `weight` weighs an item."""

    weight: Callable[[Item], int]
    most_weight: int
    most_items: int

    def batches(self, items: Iterator[Item | Rejected]) -> Iterator[Batch[Item]]:
        """The items in their order, as many together as the bounds allow."""
        batch: list[Item | Rejected] = []
        weight = 0
        for item in items:
            more = 0 if isinstance(item, Rejected) else self.weight(item)
            if batch and (weight + more > self.most_weight or len(batch) >= self.most_items):
                yield batch
                batch, weight = [], 0
            batch.append(item)
            weight += more
        if batch:
            yield batch


class Pipeline(Generic[Item]):
    """Fills one version. A bad record is counted and named; only a service that fails ends the run."""

    def __init__(
        self,
        version: Version,
        send: Callable[[str, Sequence[Item]], Awaitable[Mapping[str, str]]],
        progress: Progress,
        on_record: OnRecord = lambda where, outcome, reason: None,
    ) -> None:
        """`send` writes items into a version; it gives point id -> reason for what cannot be indexed."""
        self._version = version
        self._send: Callable[[str, Sequence[Item]], Awaitable[Mapping[str, str]]] = send
        self._progress = progress
        self._on_record = on_record
        self.tally = Tally()
        self.addresses: set[str] = set()
        """Addresses of all records so far that can be indexed."""

    async def run(self, batches: Iterator[Batch[Item]]) -> Tally:
        """Take every batch through. Raises `LoreglassError`."""
        outbox, inbox = anyio.create_memory_object_stream[Batch[Item]](1)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._prepare, batches, outbox)
                for _ in range(WORKERS):
                    group.start_soon(self._work, inbox.clone())
                inbox.close()
        except ExceptionGroup as failures:
            raise _first(failures) from failures
        return self.tally

    async def _prepare(
        self, batches: Iterator[Batch[Item]], outbox: MemoryObjectSendStream[Batch[Item]]
    ) -> None:
        with outbox:
            while (batch := await anyio.to_thread.run_sync(next, batches, None)) is not None:
                await outbox.send(batch)

    async def _work(self, inbox: MemoryObjectReceiveStream[Batch[Item]]) -> None:
        with inbox:
            async for batch in inbox:
                await self._handle(batch)
                self._progress(self.tally.counts.total())

    async def _handle(self, batch: Batch[Item]) -> None:
        for each in batch:
            if isinstance(each, Rejected):
                self._add(each.where, Outcome.REJECTED, each.reason)
        items = [each for each in batch if not isinstance(each, Rejected)]
        self.addresses.update(item.key for item in items)
        for item in items:
            self.tally.remark(item.where, item.remarks)
        missing = await self._version.missing([each for item in items for each in item.point_ids])
        fresh = [item for item in items if not missing.isdisjoint(item.point_ids)]
        for item in items:
            if missing.isdisjoint(item.point_ids):
                self._add(item.where, Outcome.UNCHANGED, " ".join(item.remarks))
        if fresh:
            version = await self._version.ensure()
            await self._index(version, fresh, await self._version.held([item.key for item in fresh]))

    async def _index(self, version: str, items: Sequence[Item], before: Set[str]) -> None:
        """Send items; when a request fails for what is in it, send its halves, down to the bad record."""
        try:
            refused = await self._send(version, items)
        except LoreglassError as error:
            if error.kind not in _FAULT_OF_A_RECORD:
                raise
            if len(items) == 1:
                self._add(items[0].where, Outcome.REJECTED, error.detail)
                return
            middle = len(items) // 2
            await self._index(version, items[:middle], before)
            await self._index(version, items[middle:], before)
            return
        for item in items:
            reasons = [refused[each] for each in item.point_ids if each in refused]
            if len(reasons) == len(item.point_ids):
                self._add(item.where, Outcome.REJECTED, reasons[0])
            else:
                outcome = Outcome.REPLACED if item.key in before else Outcome.ADDED
                self._add(item.where, outcome, " ".join(item.remarks))

    def _add(self, where: str, outcome: Outcome, reason: str) -> None:
        self.tally.add(where, outcome, reason)
        self._on_record(where, outcome, reason)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure
