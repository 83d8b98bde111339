"""Micro-batching: calls of several users share one forward pass of a model.

A call hands over its items and waits for their results. One thread takes items of the waiting calls, in
turns, up to `max_batch`; it waits at most `max_wait_ms` for more to come. What waits while a batch runs
goes into the next one, so a busy model batches by itself. A call whose caller has left is dropped before
it costs anything. The scheme is that of Hugging Face's text-embeddings-inference.
"""

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chassis.errors import NotReady
from chassis.models.cancellation import Abandoned, Call, current_call

Item = TypeVar("Item")
Result = TypeVar("Result")
BatchObserver = Callable[[int], None]
"""Told how many items each forward pass had."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """`max_batch` items a forward pass; an incomplete batch starts `max_wait_ms` after its first item."""

    max_batch: int = 16
    max_wait_ms: float = 3.0


@dataclass(slots=True, eq=False)
class _Entry(Generic[Item, Result]):
    """A call's items; `results` fill up as batches come back."""

    items: Sequence[Item]
    caller: Call | None
    since: float
    taken: int = 0
    results: list[Result] = field(default_factory=list)
    outcome: Future[list[Result]] = field(default_factory=Future)

    @property
    def left(self) -> int:
        return len(self.items) - self.taken


@dataclass(frozen=True, slots=True)
class _Slice(Generic[Item, Result]):
    """The part of a call that is in one batch."""

    entry: _Entry[Item, Result]
    items: Sequence[Item]


class MicroBatcher(Generic[Item, Result]):
    """`forward` with the items of several callers at once; results never cross.

    `forward` must return one result an item, in order, whoever else is in the batch. When it fails, each
    call of the batch is tried by itself, so that a bad item fails its own call only. Whatever it raises,
    no call waits for ever.
    """

    def __init__(
        self,
        forward: Callable[[Sequence[Item]], Sequence[Result]],
        limits: BatchLimits,
        name: str = "batch",
        observe: BatchObserver = lambda _: None,
    ) -> None:
        self._forward = forward
        self._limits = limits
        self._observe = observe
        self._waiting: deque[_Entry[Item, Result]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def __call__(self, items: Sequence[Item]) -> list[Result]:
        """One result an item, in order. Raises what `forward` raises, and `NotReady` after `close`."""
        if not items:
            return []
        entry: _Entry[Item, Result] = _Entry(list(items), current_call(), time.monotonic())
        with self._changed:
            if self._closed:
                raise NotReady("The service is shutting down.")
            self._waiting.append(entry)
            self._changed.notify_all()
        return entry.outcome.result()

    @property
    def waiting(self) -> int:
        """Items that no batch has taken yet."""
        with self._changed:
            return sum(entry.left for entry in self._waiting)

    @property
    def oldest_wait_s(self) -> float:
        """The longest time that a call has waited for a batch."""
        with self._changed:
            oldest = min((entry.since for entry in self._waiting), default=None)
        return 0.0 if oldest is None else time.monotonic() - oldest

    def close(self) -> None:
        """Refuse waiting calls, and wait for the running batch."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        try:
            while batch := self._next_batch():
                self._run(batch)
        finally:
            self._refuse_waiting()

    def _refuse_waiting(self) -> None:
        with self._changed:
            self._closed = True
            while self._waiting:
                self._waiting.popleft().outcome.set_exception(NotReady("The service is shutting down."))

    def _next_batch(self) -> list[_Slice[Item, Result]]:
        """The next items, in turns; none once closed."""
        with self._changed:
            while not self._closed:
                self._drop_abandoned()
                if self._waiting and self._due_in_s() <= 0:
                    return self._take()
                self._changed.wait(self._due_in_s() if self._waiting else None)
            return []

    def _due_in_s(self) -> float:
        if sum(entry.left for entry in self._waiting) >= self._limits.max_batch:
            return 0.0
        oldest = min(entry.since for entry in self._waiting)
        return oldest + self._limits.max_wait_ms / 1000 - time.monotonic()

    def _drop_abandoned(self) -> None:
        for entry in [each for each in self._waiting if each.caller and each.caller.abandoned]:
            self._waiting.remove(entry)
            entry.outcome.set_exception(Abandoned("The work did not start in time."))

    def _take(self) -> list[_Slice[Item, Result]]:
        """Equal turns: a call with many items does not keep the others out."""
        batch: list[_Slice[Item, Result]] = []
        room = self._limits.max_batch
        while room and self._waiting:
            entry = self._waiting.popleft()
            share = max(1, room // (len(self._waiting) + 1))
            items = entry.items[entry.taken : entry.taken + share]
            entry.taken += len(items)
            room -= len(items)
            batch.append(_Slice(entry, items))
            if entry.left:
                self._waiting.append(entry)
        return batch

    def _run(self, batch: Sequence[_Slice[Item, Result]]) -> None:
        try:
            results = self._compute([item for part in batch for item in part.items])
        except BaseException as error:  # noqa: BLE001 - handed to the callers
            # The frames hold the pass's tensors; out of memory, each call alone needs their room.
            traceback.clear_frames(error.__traceback__)
            failure = error
        else:
            self._deliver(batch, results)
            return
        if len({id(part.entry) for part in batch}) == 1:
            self._fail(batch[0].entry, failure)
            return
        del failure
        for part in batch:
            if not part.entry.outcome.done():  # an earlier part of the same call may have failed
                self._run([part])

    def _compute(self, items: Sequence[Item]) -> Sequence[Result]:
        self._observe(len(items))
        results = list(self._forward(items))
        if len(results) != len(items):
            raise RuntimeError(f"The model gave {len(results)} results for {len(items)} items.")
        return results

    def _deliver(self, batch: Sequence[_Slice[Item, Result]], results: Sequence[Result]) -> None:
        start = 0
        for part in batch:
            entry, end = part.entry, start + len(part.items)
            entry.results.extend(results[start:end])
            start = end
            if len(entry.results) == len(entry.items) and not entry.outcome.done():
                entry.outcome.set_result(entry.results)

    def _fail(self, entry: _Entry[Item, Result], error: BaseException) -> None:
        """A `SystemExit` in a model must not end the server when it reaches the event loop."""
        with self._changed:
            if entry in self._waiting:
                self._waiting.remove(entry)
        if not isinstance(error, Exception):
            error = RuntimeError(f"The model ended with {type(error).__name__}.")
        if not entry.outcome.done():
            entry.outcome.set_exception(error)
