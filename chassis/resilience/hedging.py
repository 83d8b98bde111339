"""A read that takes unusually long is sent a second time; whichever ends first is used.

Dean and Barroso, "The Tail at Scale" (CACM 56(2), 2013), "Hedged requests": waiting for the 95th percentile
before the second request bounds the added load to about 5 %. Only for reads: cheap, and free of effects.
"""

import math
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, TypeVar

from chassis.resilience.deadlines import Clock
from chassis.resilience.decayed_histogram import DecayedHistogram
from chassis.resilience.retries import RetryBudget

T = TypeVar("T")
Wait = Callable[[Collection[Future[Any]], float | None], set[Future[Any]]]
"""Waits until one of the futures is done, for so many seconds at most; returns those that are."""

_QUANTILE = 0.95
_SHARE = 0.05
_BURST = 2.0
_THREADS = 64
"""More than a service has callers' threads: a read must not wait for another's."""
_KNOWN_AFTER = 20
_HALF_LIFE = 200
"""Reads: after so many more, one counts half."""


def first_done(futures: Collection[Future[Any]], timeout_s: float | None) -> set[Future[Any]]:
    """`Wait` in real time."""
    return wait(futures, timeout_s, FIRST_COMPLETED).done


class Hedger:
    """Reads of one kind. At most one in twenty is sent twice, and never more than once again.

    Safe from any thread. The read that lost runs to its own end in its thread and its result is dropped; the
    share that is hedged bounds how many such threads there are.
    """

    def __init__(self, name: str, clock: Clock = time.perf_counter, wait: Wait = first_done) -> None:
        self._clock = clock
        self._wait = wait
        self._times = DecayedHistogram(_HALF_LIFE)
        self._seen = 0
        self._budget = RetryBudget(_SHARE, _BURST, starts_full=False)
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"{name}-read")

    def read(self, read: Callable[[], T]) -> T:
        """`read()`, perhaps twice side by side. Raises what the read raises that ends first or last."""
        after_s = self._begin()
        if math.isinf(after_s):  # nothing is known yet that a second read could be timed by
            return self._timed(read)
        first = self._send(read)
        done = self._wait([first], after_s)
        if done or not self._may_hedge():
            return first.result()
        second = self._send(read)
        done = self._wait([first, second], None)
        winner = first if first in done else second
        loser = second if winner is first else first
        if winner.exception() is not None:
            return loser.result()
        loser.cancel()
        return winner.result()

    def close(self) -> None:
        """Send no more; reads under way are not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self) -> float:
        """Seconds until a second read may be sent."""
        with self._lock:
            self._budget.called()
            return self._times.quantiles((_QUANTILE,))[0] if self._seen >= _KNOWN_AFTER else math.inf

    def _may_hedge(self) -> bool:
        with self._lock:
            return self._budget.spend()

    def _send(self, read: Callable[[], T]) -> Future[T]:
        return self._threads.submit(copy_context().run, self._timed, read)

    def _timed(self, read: Callable[[], T]) -> T:
        began = self._clock()
        result = read()
        with self._lock:
            self._seen += 1
            self._times.add(self._clock() - began, self._seen)
        return result
