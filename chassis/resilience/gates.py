"""Bounded work in progress: calls beyond the bound wait, and are let in by their deadlines."""

import asyncio
import math
from bisect import insort
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial

import anyio

from chassis.errors import DeadlineExceeded, Overloaded
from chassis.resilience.deadlines import Deadline
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


@dataclass(order=True, slots=True)
class _Waiter:
    """Sorts by deadline, then by arrival."""

    at: float
    arrival: int
    deadline: Deadline = field(compare=False)
    weight: float = field(compare=False)
    scope: str = field(default_factory=current_scope, compare=False)
    state: _State = field(default=_State.WAITING, compare=False)
    called: anyio.Event | None = field(default=None, compare=False)
    timer: asyncio.TimerHandle | None = field(default=None, compare=False)

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

    Of those who wait, the scope (see `chassis.scope`) that has the fewest inside is next, and of equals the
    one whose last turn is longest ago: however many calls one sends, another waits for those inside only.
    Within a scope it is the earliest deadline first, because the work that others made late helps nobody
    (Google, "Site Reliability Engineering", ch. 22: queues that outlast their requests' deadlines). All
    deadlines must be on one clock.
    """

    def __init__(self, name: str, capacity: float, max_waiting: int) -> None:
        if not capacity > 0 or max_waiting < 0:
            raise ValueError(f"The gate {name!r} needs a capacity above 0 and room for 0 or more to wait.")
        self.name = name
        self.max_waiting = max_waiting
        self._capacity = capacity
        self._waiters: list[_Waiter] = []
        self._arrivals = 0
        self._inside: Counter[str] = Counter()
        self._last_turn: dict[str, int] = {}
        self._turns = 0
        self._in_use = 0.0

    @property
    def capacity(self) -> float:
        """Weight that may be inside; one call that is heavier may be inside alone."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: float) -> None:
        if not capacity > 0:
            raise ValueError(f"The gate {self.name!r} needs a capacity above 0.")
        self._capacity = capacity
        self._let_in()

    @property
    def in_use(self) -> float:
        """Weight inside."""
        return self._in_use

    @property
    def inside(self) -> int:
        """Calls inside."""
        return self._inside.total()

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return len(self._waiters)

    async def enter(
        self, deadline: Deadline, weight: float = 1.0, most_s: float = math.inf
    ) -> Callable[[], None]:
        """Enter with `weight` for `most_s` at most, and return the function that leaves.

        It must be called in the event loop; a second call does nothing. Raises `Overloaded` when too many
        wait and this is the latest of the scope with the most, and `DeadlineExceeded` once the time is over.
        """
        if not (weight >= 0 and math.isfinite(weight)):
            raise ValueError(f"A weight must be a number of 0 or more, not {weight}.")
        deadline.require()
        waiter = _Waiter(deadline.at, self._arrivals, deadline, weight)
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
        while self._waiters:
            self._waiters.pop().call(_State.REFUSED)

    async def _wait(self, waiter: _Waiter) -> None:
        insort(self._waiters, waiter)
        self._let_in()
        self._refuse_the_latest()
        if waiter.state is _State.WAITING:
            await waiter.wait()
        if waiter.state is _State.REFUSED:
            raise Overloaded(f"Too many calls wait for {self.name}.", retry_after_s=_RETRY_AFTER_S)
        if waiter.state is not _State.INSIDE:
            raise DeadlineExceeded(f"There was not enough time to wait for {self.name}.")

    def _leave(self, waiter: _Waiter) -> None:
        if waiter.state is _State.WAITING:
            self._waiters.remove(waiter)
        elif waiter.state is _State.INSIDE:
            self._inside[waiter.scope] -= 1
            if not self._inside[waiter.scope]:
                del self._inside[waiter.scope]
            self._in_use = self._in_use - waiter.weight if self._inside else 0.0
        waiter.state = _State.LEFT
        if waiter.timer is not None:
            waiter.timer.cancel()
        self._let_in()
        if not self._inside:
            self._last_turn.clear()  # nobody waits then, either

    def _let_in(self) -> None:
        while self._waiters:
            first = min(self._waiters, key=self._precedence)
            if not first.expired and not self._fits(first.weight):
                return
            self._waiters.remove(first)
            if first.expired:
                first.call(_State.EXPIRED)
                continue
            first.call(_State.INSIDE)
            self._inside[first.scope] += 1
            self._in_use += first.weight
            self._turns += 1
            self._last_turn[first.scope] = self._turns

    def _precedence(self, waiter: _Waiter) -> tuple[int, int, _Waiter]:
        return self._inside[waiter.scope], self._last_turn.get(waiter.scope, 0), waiter

    def _fits(self, weight: float) -> bool:
        return not self._inside or self._in_use + weight <= self._capacity + _ROUNDING

    def _refuse_the_latest(self) -> None:
        if len(self._waiters) > self.max_waiting:
            for waiter in [each for each in self._waiters if each.expired]:
                self._waiters.remove(waiter)
                waiter.call(_State.EXPIRED)
        while len(self._waiters) > self.max_waiting:
            waiting = Counter(waiter.scope for waiter in self._waiters)
            most = max(waiting.values())
            last = max(waiter for waiter in self._waiters if waiting[waiter.scope] == most)
            self._waiters.remove(last)
            last.call(_State.REFUSED)
