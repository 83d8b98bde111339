"""One call for all who ask at the same time, and a bound on how many calls are made in a row."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from chassis.resilience.deadlines import Clock

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
