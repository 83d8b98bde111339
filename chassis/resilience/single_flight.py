"""One call for all who ask at the same time, and a bound on how many calls are made in a row."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from chassis.errors import DeadlineExceeded
from chassis.resilience.deadlines import Clock, Deadline

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Callers share one call of a function; a token bucket bounds how often it is called.

    A caller who comes while a call is under way waits for its result, also when the caller that began it has
    left. `at_once` calls may follow one another, then one every `every_s` seconds; a caller beyond that gets
    the latest result, which is at most `every_s` seconds old.
    """

    def __init__(self, at_once: int, every_s: float, clock: Clock = time.monotonic) -> None:
        self._at_once = at_once
        self._every_s = every_s
        self._clock = clock
        self._left = float(at_once)
        self._counted = clock()
        self._latest: asyncio.Task[T] | None = None

    async def get(self, look: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `look`, or its latest one. Raises what it raised."""
        if self._latest is None or (self._latest.done() and self._may_look()):

            async def begun() -> T:
                return await look()

            self._latest = asyncio.create_task(begun())
        return await asyncio.shield(self._latest)

    def _may_look(self) -> bool:
        now = self._clock()
        self._left = min(self._at_once, self._left + (now - self._counted) / self._every_s)
        self._counted = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(slots=True, eq=False)
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    callers: int = 0


class SharedCalls(Generic[T]):
    """Callers who ask for the same thing at the same time share one call; the last to leave cancels it."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def get(self, key: Hashable, begin: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Return the result of the first caller's `begin` for `key`, which keeps to that caller's deadline.

        One with a later deadline than the first begins anew when the first one's time is over. Raises what
        `begin` raises, and `DeadlineExceeded`.
        """
        while True:
            flight = self._flights.get(key)
            began = flight is None
            if flight is None:
                flight = self._flights[key] = self._begun(key, begin)
            try:
                with anyio.move_on_after(deadline.remaining_s()):
                    return await self._wait(key, flight)
                raise DeadlineExceeded("The work did not finish in time.")
            except DeadlineExceeded:
                if began or deadline.remaining_ms() <= 0:
                    raise

    def _begun(self, key: Hashable, begin: Callable[[], Awaitable[T]]) -> _Flight[T]:
        async def begun() -> T:
            return await begin()

        flight = _Flight(asyncio.create_task(begun()))
        flight.task.add_done_callback(lambda task: self._ended(key, flight))
        return flight

    async def _wait(self, key: Hashable, flight: _Flight[T]) -> T:
        flight.callers += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.callers -= 1
            if not flight.callers:
                flight.task.cancel()
                self._forget(key, flight)

    def _ended(self, key: Hashable, flight: _Flight[T]) -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            flight.task.exception()  # told to those who wait; nobody may, by now

    def _forget(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
