"""A read that takes unusually long is sent once more, but seldom."""

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest

from chassis.errors import DependencyUnavailable
from chassis.resilience.hedging import Hedger, first_done

KNOWN = 20


class Timer:
    """In place of real waiting: a timed wait is over at once, and remembers for how long it was meant."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def __call__(self, futures: Collection[Future[Any]], timeout_s: float | None) -> set[Future[Any]]:
        if timeout_s is None:
            return first_done(futures, 20)
        self.waits.append(timeout_s)
        return set()


class Patience:
    """Waits for every read, however long it was meant to wait."""

    def __call__(self, futures: Collection[Future[Any]], timeout_s: float | None) -> set[Future[Any]]:
        return first_done(futures, 20)


class Ticks:
    """A clock on which every read takes 10 ms."""

    def __init__(self) -> None:
        self._now = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            self._now += 0.010
            return self._now


class Store:
    """Replies with a number; the reads whose turn is in `hanging` hang until the test is over."""

    def __init__(self, hanging: Collection[int] = (), failing: Collection[int] = ()) -> None:
        self.reads = 0
        self.let_go = threading.Event()
        self._hanging, self._failing = hanging, failing
        self._lock = threading.Lock()

    def read(self) -> int:
        with self._lock:
            self.reads += 1
            turn = self.reads
        if turn in self._hanging:
            self.let_go.wait(20)
        if turn in self._failing:
            raise DependencyUnavailable(f"Read {turn} failed.")
        return turn


@contextmanager
def hedging(store: Store, wait: Callable[..., set[Future[Any]]]) -> Iterator[Hedger]:
    hedger = Hedger("test", Ticks(), wait)
    try:
        yield hedger
    finally:
        store.let_go.set()
        hedger.close()


def test_a_read_that_hangs_is_overtaken_by_a_second_one() -> None:
    store, timer = Store(hanging={KNOWN + 1}), Timer()
    with hedging(store, timer) as hedger:
        assert [hedger.read(store.read) for _ in range(KNOWN)] == list(range(1, KNOWN + 1))
        assert hedger.read(store.read) == KNOWN + 2
    assert timer.waits == [pytest.approx(0.010, rel=0.11)]


def test_a_read_that_is_quick_enough_is_not_sent_again() -> None:
    store = Store()
    with hedging(store, Patience()) as hedger:
        for _ in range(200):
            hedger.read(store.read)
    assert store.reads == 200


def test_while_no_time_is_known_nothing_is_sent_twice() -> None:
    store, timer = Store(), Timer()
    with hedging(store, timer) as hedger:
        for _ in range(KNOWN):
            hedger.read(store.read)
    assert store.reads == KNOWN
    assert timer.waits == []


@pytest.mark.parametrize("reads", [100, 1_000])
def test_at_most_one_read_in_twenty_is_sent_again_even_when_all_are_slow(reads: int) -> None:
    store = Store()
    with hedging(store, Timer()) as hedger:
        for _ in range(reads):
            hedger.read(store.read)
    assert reads < store.reads <= reads * 1.05


def test_an_error_before_the_second_read_is_the_callers() -> None:
    store = Store(failing={KNOWN + 1})
    with hedging(store, Patience()) as hedger:
        for _ in range(KNOWN):
            hedger.read(store.read)
        with pytest.raises(DependencyUnavailable):
            hedger.read(store.read)
    assert store.reads == KNOWN + 1


def test_a_second_read_that_fails_leaves_the_first_its_chance() -> None:
    store = Store(hanging={KNOWN + 1}, failing={KNOWN + 2})

    def wait(futures: Collection[Future[Any]], timeout_s: float | None) -> set[Future[Any]]:
        if timeout_s is not None:
            return set()
        done = first_done(futures, 20)
        store.let_go.set()
        return done

    with hedging(store, wait) as hedger:
        for _ in range(KNOWN):
            hedger.read(store.read)
        assert hedger.read(store.read) == KNOWN + 1


def test_when_both_fail_the_error_comes_out() -> None:
    store = Store(failing={KNOWN + 1, KNOWN + 2})
    with hedging(store, Timer()) as hedger:
        for _ in range(KNOWN):
            hedger.read(store.read)
        with pytest.raises(DependencyUnavailable):
            hedger.read(store.read)
