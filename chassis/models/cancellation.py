"""Cancellation of an engine's work: between two pieces of it, engines check whether their caller still waits.

Without the web framework and pydantic, as engines are.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from chassis.resilience.deadlines import Deadline

Item = TypeVar("Item")
Result = TypeVar("Result")


class Call:
    """A call's caller: how long it will wait, and whether it has left."""

    def __init__(self, deadline: "Deadline") -> None:
        self.deadline = deadline
        self._left = threading.Event()

    @property
    def abandoned(self) -> bool:
        """True if the caller has left."""
        return self._left.is_set() or self.deadline.remaining_ms() <= 0

    def leave(self) -> None:
        """The caller waits no longer."""
        self._left.set()


class Abandoned(Exception):
    """The caller left, or its time was over, before the work was done."""


CURRENT_CALL: ContextVar[Call | None] = ContextVar("current_call", default=None)


def current_call() -> Call | None:
    """In a pool's thread: the call that it works for."""
    return CURRENT_CALL.get()


def has_time(reserve_ms: float) -> bool:
    """Return whether somebody waits for the current call, and for longer than this."""
    call = current_call()
    return call is None or (not call.abandoned and call.deadline.remaining_ms() > reserve_ms)


def until_cancelled(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items while the caller of the current call waits. Raises `Abandoned` when it has left.

    A thread cannot be stopped from outside, so an engine's loop over pieces of work runs through here.
    """
    for item in items:
        require_caller()
        yield item


def require_caller() -> None:
    """Go on with the current call only if somebody waits for it. Raises `Abandoned`."""
    call = current_call()
    if call is not None and call.abandoned:
        raise Abandoned("Nobody waits for this work any more.")


def work_in_threads(work: Callable[[Item], Result], items: Sequence[Item], at_once: int) -> list[Result]:
    """Return `work(item)` of each, in order, `at_once` side by side, all of them for the current call."""
    if len(items) < 2 or at_once < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(len(items), at_once), "side-by-side") as threads:
        started = [threads.submit(copy_context().run, work, item) for item in items]
        return [each.result() for each in started]
