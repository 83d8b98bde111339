"""Blocking model work off the event loop, in a pool with a bounded queue."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio

from chassis.errors import DeadlineExceeded, Overloaded
from chassis.models.cancellation import CURRENT_CALL, Abandoned, Call
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.gates import Gate
from chassis.telemetry.spans import span

Engine = TypeVar("Engine")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PoolSize:
    """`workers` calls run at once; `queue` more may wait; the next is refused."""

    workers: int = 1
    queue: int = 16


class EnginePool(Generic[Engine]):
    """Runs calls on an engine in threads, in the context of their callers; scopes take turns, as at a `Gate`.

    A caller that leaves while its call waits takes the call with it; one that leaves while the call
    runs stops waiting at once, and the thread is free again when the engine next asks `require_caller`.
    """

    def __init__(
        self,
        engine: Engine,
        size: PoolSize,
        name: str = "engine",
        refused: Callable[[], None] = lambda: None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.engine = engine
        self._turns = Gate(f"the queue of {name}", size.workers, size.queue)
        self._executor = ThreadPoolExecutor(size.workers, thread_name_prefix=name)
        self._pending = 0
        self._since: dict[Call, float] = {}
        self._refused = refused
        self._clock = clock

    @property
    def waiting(self) -> int:
        """The number of calls that no thread has begun."""
        return len(self._since)

    @property
    def running(self) -> int:
        """The number of calls in threads, also of callers that have left."""
        return max(0, self._pending - len(self._since))

    @property
    def oldest_wait_s(self) -> float:
        """The time that the first of the waiting calls has waited."""
        since = tuple(self._since.values())  # one step of the interpreter, so no thread changes it meanwhile
        return self._clock() - since[0] if since else 0.0

    async def run(self, call: Callable[[Engine], Result], deadline: Deadline) -> Result:
        """`call(engine)` in a worker thread.

        Raises `Overloaded` when the queue is full and `DeadlineExceeded` when the time is over first.
        """
        deadline.require()
        caller = Call(deadline)
        self._since[caller] = self._clock()
        self._pending += 1
        try:
            end_turn = await self._turns.enter(deadline)
        except BaseException as error:
            self._finish(caller)
            if isinstance(error, Overloaded):
                self._refused()
            raise
        future = self._submit(call, caller, end_turn)
        try:
            with anyio.move_on_after(deadline.remaining_s()) as scope:
                result = await asyncio.wrap_future(future)
        except Abandoned as error:
            raise DeadlineExceeded("The work did not finish in time.") from error
        finally:
            caller.leave()
        if scope.cancelled_caught:
            raise DeadlineExceeded("The work did not finish in time.")
        return result

    def _submit(
        self, call: Callable[[Engine], Result], caller: Call, end_turn: Callable[[], None]
    ) -> Future[Result]:
        loop = asyncio.get_running_loop()

        def finish() -> None:
            self._finish(caller)
            end_turn()

        future = self._executor.submit(copy_context().run, self._work_for, caller, call)
        future.add_done_callback(lambda _: _call_in(loop, finish))
        return future

    def _work_for(self, caller: Call, call: Callable[[Engine], Result]) -> Result:
        self._since.pop(caller, None)
        CURRENT_CALL.set(caller)  # in a context that ends with the call
        with span("engine"):
            return call(self.engine)

    def _finish(self, caller: Call) -> None:
        self._since.pop(caller, None)  # one that left before its turn
        self._pending -= 1

    def close(self) -> None:
        """Drop waiting calls and wait for running ones."""
        self._executor.shutdown(wait=True, cancel_futures=True)


def _call_in(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():  # a call may outlive the loop at shutdown; nobody counts then
        loop.call_soon_threadsafe(callback)
