"""Clocks of tests: one that a test moves, and an event loop whose clock jumps to the next timer.

The loop is for code without threads and sockets.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass
class ManualClock:
    """Seconds that only move when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class _Selector(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("Every task waits, and no timer is left that could wake one.")
        self.now += max(0.0, timeout)
        return super().select(0)


def run_virtual(main: Callable[[Callable[[], float]], Coroutine[Any, Any, Result]]) -> Result:
    """Return the result of `main(clock)` on a loop of its own whose time begins at 0 s."""
    selector = _Selector()

    def new_loop() -> asyncio.AbstractEventLoop:
        loop = asyncio.SelectorEventLoop(selector)
        loop.time = lambda: selector.now  # type: ignore[method-assign]
        return loop

    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main(lambda: selector.now))
