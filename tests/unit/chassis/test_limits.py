"""Limits of concurrency that follow what a server bears."""

import heapq
import math
import random
import statistics
from collections import deque
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.resilience.limits import GradientLimit

SERVICE_S = 0.1
_SIGMA = 0.4
_MAX_WAITING = 50


class Simulation:
    """`load`: arrivals in shares of what the workers can do; `slowness`: service times' factor at a time."""

    def __init__(
        self,
        workers: int,
        load: float,
        initial: float = 4.0,
        slowness: Callable[[float], float] = lambda _: 1.0,
    ) -> None:
        self.now = 0.0
        self.limit = GradientLimit(initial, clock=lambda: self.now)
        self.limits: list[tuple[float, float]] = []  # (end of a call in seconds, limit at that time)
        self._workers = workers
        self._rate = load * workers / SERVICE_S
        self._slowness = slowness
        self._rng = random.Random(1)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = iter(range(10**9))
        self._busy = self._in_flight = self._waiting = 0
        self._queue: deque[tuple[float, int]] = deque()

    def run(self, seconds: float) -> "Simulation":
        """Up to `seconds` of simulated time."""
        self._arrive_later()
        while self._events[0][0] <= seconds:
            self.now, _, event = heapq.heappop(self._events)
            event()
        return self

    def median_limit(self, start: float, end: float) -> float:
        return statistics.median(limit for at, limit in self.limits if start <= at < end)

    def throughput(self, start: float, end: float) -> float:
        """Calls a second, in shares of what the workers can do at full speed."""
        done = sum(start <= at < end for at, _ in self.limits)
        return done / (end - start) * SERVICE_S / self._workers

    def _after(self, seconds: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), event))

    def _arrive_later(self) -> None:
        self._after(self._rng.expovariate(self._rate), self._arrive)

    def _arrive(self) -> None:
        self._arrive_later()
        self._waiting = min(self._waiting + 1, _MAX_WAITING)
        self._send_what_may()

    def _send_what_may(self) -> None:
        while self._waiting and self._in_flight + 1 <= self.limit.value:
            self._waiting -= 1
            self._in_flight += 1
            self._queue.append((self.now, self._in_flight))
        while self._queue and self._busy < self._workers:
            sent, in_flight = self._queue.popleft()
            self._busy += 1
            median = SERVICE_S * math.exp(-(_SIGMA**2) / 2)
            seconds = self._rng.lognormvariate(math.log(median), _SIGMA) * self._slowness(self.now)
            self._after(seconds, partial(self._finish, sent, in_flight))

    def _finish(self, sent: float, in_flight: int) -> None:
        self._busy -= 1
        self._in_flight -= 1
        self.limit.observe(self.now - sent, in_flight)
        self.limits.append((self.now, self.limit.value))
        self._send_what_may()


SECONDS = st.floats(min_value=0, max_value=1e6) | st.just(math.inf) | st.just(math.nan)
IN_FLIGHT = st.integers(min_value=1, max_value=500)
LEARNT = st.lists(st.tuples(SECONDS, IN_FLIGHT) | st.none(), max_size=60)


@given(LEARNT, st.floats(1, 64))
def test_limit_stays_between_floor_and_ceiling(
    learnt: list[tuple[float, int] | None], initial: float
) -> None:
    now = 0.0
    limit = GradientLimit(initial, clock=lambda: now)
    for each in learnt:
        if each is None:
            limit.drop()
        else:
            limit.observe(*each)
            now += each[0] if math.isfinite(each[0]) else 1.0
        assert 1 <= limit.value <= 64


@given(st.lists(st.tuples(st.floats(0.001, 10), st.integers(1, 100)), min_size=1, max_size=40))
def test_unused_limit_does_not_grow(learnt: list[tuple[float, int]]) -> None:
    limit = GradientLimit(40, clock=lambda: 0.0)
    for seconds, in_flight in learnt:
        before = limit.value
        limit.observe(seconds, in_flight)
        if in_flight < before / 2:
            assert limit.value <= before


def test_limit_grows_to_its_ceiling_at_steady_latency() -> None:
    limit = GradientLimit(2, clock=lambda: 0.0)
    for _ in range(400):
        limit.observe(0.05, int(limit.value))
    assert limit.value == 64


def test_simultaneous_refusals_lower_the_limit_once() -> None:
    now = 0.0
    limit = GradientLimit(10, clock=lambda: now)
    limit.observe(0.2, 1)
    for _ in range(8):
        limit.drop()
    assert limit.value == pytest.approx(7)
    now = 0.2
    limit.drop()
    assert limit.value == pytest.approx(4.9)


def test_limit_drops_to_measure_idle_latency_again() -> None:
    now = 0.0
    limit = GradientLimit(16, clock=lambda: now)
    limit.observe(0.1, 1)
    before = limit.value
    while limit.value > before / 2:
        now += 0.1
        limit.observe(0.1, int(limit.value))
    assert 2.4 <= now <= 2.7
    for _ in range(4):
        limit.observe(0.1, int(limit.value))
    assert limit.value >= before


@pytest.mark.parametrize(("load", "initial"), [(0.5, 4.0), (1.5, 4.0), (5.0, 4.0), (3.0, 64.0)])
@pytest.mark.parametrize("workers", [1, 4])
def test_limit_settles_near_the_workers_at_any_load(workers: int, load: float, initial: float) -> None:
    sim = Simulation(workers, load, initial).run(60)
    assert sim.throughput(20, 60) >= min(1.0, load) * 0.85
    if load > 1:
        assert workers <= sim.median_limit(20, 60) <= 3 * workers + 2


@pytest.mark.parametrize("workers", [1, 4])
def test_limit_adapts_to_a_slower_server_and_recovers(workers: int) -> None:
    sim = Simulation(workers, 2.0, slowness=lambda at: 5.0 if 30 <= at < 90 else 1.0).run(140)
    assert workers <= sim.median_limit(60, 90) <= 3 * workers + 2
    assert sim.throughput(60, 90) > 0.9 / 5
    assert sim.throughput(92, 102) >= 0.85
    assert sim.median_limit(120, 140) <= 3 * workers + 2
