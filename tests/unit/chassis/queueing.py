"""A server with `workers` and open-loop arrivals, as discrete events: what a concurrency limit lives with."""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from chassis.resilience.limits import GradientLimit

SERVICE_S = 0.1
_SIGMA = 0.4
_MAX_WAITING = 50


@dataclass(frozen=True)
class Sample:
    """The state after a call ended."""

    at: float
    limit: float
    done: int


class Simulation:
    """`load`: arrivals in shares of what the workers can do; `slowness`: service times' factor at a time."""

    def __init__(
        self,
        workers: int,
        load: float,
        seed: int = 1,
        initial: float = 4.0,
        slowness: Callable[[float], float] = lambda _: 1.0,
    ) -> None:
        self.now = 0.0
        self.limit = GradientLimit(initial, clock=lambda: self.now)
        self.samples: list[Sample] = []
        self._workers = workers
        self._rate = load * workers / SERVICE_S
        self._slowness = slowness
        self._rng = random.Random(seed)
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

    def between(self, start: float, end: float) -> list[Sample]:
        """What was sampled in a stretch of time."""
        return [sample for sample in self.samples if start <= sample.at < end]

    def median_limit(self, start: float, end: float) -> float:
        """Half of the time, in calls, the limit was lower."""
        limits = sorted(sample.limit for sample in self.between(start, end))
        return limits[len(limits) // 2]

    def throughput(self, start: float, end: float) -> float:
        """Calls a second, in shares of what the workers can do at full speed."""
        stretch = self.between(start, end)
        return (stretch[-1].done - stretch[0].done) / (end - start) * SERVICE_S / self._workers

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
        done = self.samples[-1].done + 1 if self.samples else 1
        self.samples.append(Sample(self.now, self.limit.value, done))
        self._send_what_may()
