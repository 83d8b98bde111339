"""What is costly to find out and anybody may ask: fresh for who asks now and then, shared where many do."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from chassis.deadlines import Clock

T = TypeVar("T")


class SharedLook(Generic[T]):
    """One look at a time; `at_once` of them in a row, then one each `every_s` seconds (a token bucket).

    Who asks while one is under way shares it, also when the one who began it leaves; who asks for more than
    the bucket holds is told what the latest found, at most `every_s` ago.
    """

    def __init__(self, at_once: int, every_s: float, clock: Clock = time.monotonic) -> None:
        self._at_once = at_once
        self._every_s = every_s
        self._clock = clock
        self._left = float(at_once)
        self._counted = clock()
        self._latest: asyncio.Task[T] | None = None

    async def get(self, look: Callable[[], Awaitable[T]]) -> T:
        """What `look` finds, or what it just found. Raises what it raised."""
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
