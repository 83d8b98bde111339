"""Bounded work in progress: callers beyond the bound wait for their turn."""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial

import anyio

from chassis.errors import DeadlineExceeded, Overloaded
from chassis.resilience.deadlines import Deadline
from chassis.resilience.fair_queue import ONE_RANK, Claim, Entry, FairQueue
from chassis.scope import current_scope

_RETRY_AFTER_S = 1.0
_ROUNDING = 1e-9
"""Weights are floats: what fits but for rounding fits."""


class _State(Enum):
    WAITING = auto()
    INSIDE = auto()
    REFUSED = auto()
    EXPIRED = auto()
    LEFT = auto()


@dataclass(slots=True, eq=False)
class _Waiter(Entry):
    deadline: Deadline
    weight: float
    state: _State = _State.WAITING
    called: anyio.Event | None = None
    timer: asyncio.TimerHandle | None = None

    @property
    def expired(self) -> bool:
        return self.deadline.remaining_ms() <= 0

    def call(self, state: _State) -> None:
        self.state = state
        if self.called is not None:
            self.called.set()

    async def wait(self) -> None:
        """Wait until it is called, or its time is over."""
        self.called = anyio.Event()  # only made by those who really wait
        with anyio.move_on_after(self.deadline.remaining_s()):
            await self.called.wait()


class Gate:
    """`capacity` in any unit of weight; at most `max_waiting` wait. For one event loop.

    A `FairQueue` chooses who is next. Without a claim of its own a call is its scope's (see `chassis.scope`):
    however many calls one scope sends, another waits for those inside only. Within a scope it is the earliest
    deadline first, because the work that others made late helps nobody (Google, "Site Reliability
    Engineering", ch. 22: queues that outlast their requests' deadlines). All deadlines must be on one clock.

    `inside`: calls inside; `in_use`: their weight.
    """

    def __init__(
        self, name: str, capacity: float, max_waiting: int, shares: Mapping[str, int] = ONE_RANK
    ) -> None:
        self.name = name
        self.max_waiting = max_waiting
        self._capacity = capacity
        self._queue = FairQueue[_Waiter](shares)
        self._first_rank = next(iter(shares))
        self._arrivals = 0
        self.inside = 0
        self.in_use = 0.0

    @property
    def capacity(self) -> float:
        """Weight that may be inside; one call that is heavier may be inside alone."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: float) -> None:
        self._capacity = capacity
        self._let_in()

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._queue)

    def places_until(self, due_at: float, claim: Claim) -> float:
        """Return how many places must become free before a new caller gets one, if no one else arrives."""
        return self._queue.places_until(Entry(due_at, self._arrivals, claim))

    async def enter(
        self, deadline: Deadline, weight: float = 1.0, most_s: float = math.inf, claim: Claim | None = None
    ) -> Callable[[], None]:
        """Enter with `weight` for `most_s` at most, and return the function that leaves.

        It must be called in the event loop; a second call does nothing. Raises `Overloaded` when too many
        wait and this is the one to drop, and `DeadlineExceeded` once the time is over.
        """
        deadline.require()
        waiter = _Waiter(
            deadline.at, self._arrivals, claim or (self._first_rank, current_scope()), deadline, weight
        )
        self._arrivals += 1
        try:
            await self._wait(waiter)
        except BaseException:
            self._leave(waiter)
            raise
        leave = partial(self._leave, waiter)
        if most_s < math.inf:
            waiter.timer = asyncio.get_running_loop().call_later(most_s, leave)
        return leave

    def turn_away(self) -> None:
        """Refuse all who wait: what they wait for will not come."""
        for waiter in self._queue:
            self._drop(waiter, _State.REFUSED)

    async def _wait(self, waiter: _Waiter) -> None:
        if not self._queue and self._fits(waiter.weight):
            self._queue.hold(waiter.claim)
            self._admit(waiter)
            return
        self._queue.add(waiter)
        self._let_in()
        self._drop_surplus()
        if waiter.state is _State.WAITING:
            await waiter.wait()
        if waiter.state is _State.REFUSED:
            raise Overloaded(f"Too many calls wait for {self.name}.", retry_after_s=_RETRY_AFTER_S)
        if waiter.state is not _State.INSIDE:
            raise DeadlineExceeded(f"There was not enough time to wait for {self.name}.")

    def _leave(self, waiter: _Waiter) -> None:
        if waiter.state is _State.WAITING:
            self._queue.remove(waiter)
        elif waiter.state is _State.INSIDE:
            self._queue.release(waiter.claim)
            self.inside -= 1
            self.in_use = self.in_use - waiter.weight if self.inside else 0.0
        waiter.state = _State.LEFT
        if waiter.timer is not None:
            waiter.timer.cancel()
        self._let_in()

    def _let_in(self) -> None:
        while (first := self._queue.first()) is not None:
            if first.expired:
                self._drop(first, _State.EXPIRED)
            elif self._fits(first.weight):
                self._queue.take(first)
                self._admit(first)
            else:
                return

    def _admit(self, waiter: _Waiter) -> None:
        self.inside += 1
        self.in_use += waiter.weight
        waiter.call(_State.INSIDE)

    def _drop(self, waiter: _Waiter, state: _State) -> None:
        self._queue.remove(waiter)
        waiter.call(state)

    def _fits(self, weight: float) -> bool:
        return not self.inside or self.in_use + weight <= self._capacity + _ROUNDING

    def _drop_surplus(self) -> None:
        if self.waiting > self.max_waiting:
            for waiter in self._queue:
                if waiter.expired:
                    self._drop(waiter, _State.EXPIRED)
        while self.waiting > self.max_waiting:
            self._drop(self._queue.worst(self.max_waiting), _State.REFUSED)
