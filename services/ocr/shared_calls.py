"""One call for all who ask for the same thing at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from chassis.errors import DeadlineExceeded
from chassis.resilience.deadlines import Deadline

T = TypeVar("T")


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
