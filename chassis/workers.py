"""Blocking model work off the event loop, in a pool with a bounded queue."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from chassis.deadlines import Deadline
from chassis.errors import DeadlineExceeded, Overloaded

Engine = TypeVar("Engine")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PoolSize:
    """`workers` calls run at once; `queue` more may wait; the next is refused."""

    workers: int = 1
    queue: int = 16


class EnginePool(Generic[Engine]):
    """Runs calls on an engine in threads.

    A caller that leaves while its call waits takes the call with it; one that leaves while the call
    runs stops waiting at once, and the thread is free again when the call returns.
    """

    def __init__(self, engine: Engine, size: PoolSize, name: str = "engine") -> None:
        self.engine = engine
        self._capacity = size.workers + size.queue
        self._executor = ThreadPoolExecutor(size.workers, thread_name_prefix=name)
        self._pending = 0

    @property
    def depth(self) -> int:
        """Calls waiting or running."""
        return self._pending

    async def run(self, call: Callable[[Engine], Result], deadline: Deadline) -> Result:
        """`call(engine)` in a worker thread.

        Raises `Overloaded` when the queue is full and `DeadlineExceeded` when the time is over first.
        """
        deadline.require()
        if self._pending >= self._capacity:
            raise Overloaded("The queue of this service is full.", retry_after_s=1)
        future = self._submit(call)
        with anyio.move_on_after(deadline.remaining_s()) as scope:
            result = await asyncio.wrap_future(future)
        if scope.cancelled_caught:
            raise DeadlineExceeded("The work did not finish in time.")
        return result

    def _submit(self, call: Callable[[Engine], Result]) -> Future[Result]:
        loop = asyncio.get_running_loop()
        future = self._executor.submit(call, self.engine)
        self._pending += 1
        future.add_done_callback(lambda _: _call_in(loop, self._finished))
        return future

    def _finished(self) -> None:
        self._pending -= 1

    def close(self) -> None:
        """Drop what waits and wait for what runs."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def _call_in(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():  # a call may outlive the loop at shutdown; nobody counts then
        loop.call_soon_threadsafe(callback)
