"""An event loop whose clock jumps: when nothing is ready, it is already the next timer's time.

Whatever waits by the loop's own clock (asyncio, anyio) runs on it unchanged, in no time and in the same order
each time. Work in threads takes no virtual time. What other threads report is taken up only when nothing
else is ready: a run can be repeated exactly if at most one thread works at once. Sockets are not waited for,
and a thread must not wait for the clock, which stands still until the thread is done.
"""

import asyncio
import selectors
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from anyio._backends._asyncio import WorkerThread  # no public call tells whether anyio's threads are at work

from chassis.resilience.deadlines import Clock

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")

_GLANCE_S = 0.002
"""Real seconds between two looks at threads that work: one may have died without a word."""
_PATIENCE = 1_000
"""Rounds without a pause after which threads are heard anyhow: some loops wait by asking again and again."""


class Deadlock(RuntimeError):
    """Every task waits for something that nothing left in the loop can bring about."""


class _Events(selectors.DefaultSelector):
    """Asks the loop what to do instead of waiting."""

    pause: Callable[[float | None], None]

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.pause(timeout)
        return super().select(0)

    def wait(self, seconds: float) -> bool:
        """Really wait, at most `seconds`: whether a thread called."""
        return bool(super().select(seconds))


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Begins at 0 s. Raises `Deadlock` out of the run when time can no longer bring anything."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _default_executor: ThreadPoolExecutor | None
    _thread_id: int | None

    def __init__(self) -> None:
        self._now = 0.0
        self._executor_jobs = 0
        self._reports: deque[asyncio.Handle] = deque()
        self._rounds_without_pause = 0
        self._events = _Events()
        self._events.pause = self._pause
        super().__init__(self._events)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """As ever, but what another thread reports waits until nothing else is ready."""
        if not self.is_running() or threading.get_ident() == self._thread_id:
            return super().call_soon_threadsafe(callback, *args, context=context)
        self._check_closed()  # type: ignore[attr-defined]
        handle = asyncio.Handle(callback, args, self, context)
        self._reports.append(handle)
        self._write_to_self()  # type: ignore[attr-defined]
        return handle

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], Result], *args: *Arguments
    ) -> asyncio.Future[Result]:
        """Time stands still until `func` has returned, whether or not anybody still waits for it."""
        job = (executor or self._own_executor()).submit(func, *args)
        self._executor_jobs += 1
        result = asyncio.wrap_future(job, loop=self)  # hears of the end before the next line does
        job.add_done_callback(self._report_end)
        return result

    async def shutdown_default_executor(self, *_limit: float | None) -> None:
        """Waits for a thread of the loop's own.

        From Python 3.12 on a limit is given, which could not pass meanwhile: time stands still.
        """
        self._executor_jobs += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._executor_jobs -= 1

    def _own_executor(self) -> Executor:
        if self._default_executor is None:
            self._default_executor = ThreadPoolExecutor(thread_name_prefix="virtual-time")
        return self._default_executor

    def _report_end(self, _: Future[Any]) -> None:
        if not self.is_closed():
            self.call_soon_threadsafe(self._job_ended)

    def _job_ended(self) -> None:
        self._executor_jobs -= 1

    def _pause(self, timeout: float | None) -> None:
        """Called before each round of callbacks; `timeout` 0 if some are ready, None if there is no timer."""
        if timeout == 0:
            self._rounds_without_pause += 1
            if self._rounds_without_pause > _PATIENCE:
                self._hear_threads()
            return
        self._rounds_without_pause = 0
        while not self._hear_threads():
            if not self._threads_work():
                self._jump()
                return
            if self._events.wait(_GLANCE_S):
                return

    def _hear_threads(self) -> bool:
        """Whether a thread had something to report."""
        heard = bool(self._reports)
        while self._reports:
            self._ready.append(self._reports.popleft())
        return heard

    def _threads_work(self) -> bool:
        return self._executor_jobs > 0 or any(
            isinstance(thread, WorkerThread) and thread.loop is self and thread.queue.unfinished_tasks > 0
            for thread in threading.enumerate()
        )

    def _jump(self) -> None:
        if self._hear_threads():  # one reported between the two looks
            return
        if not self._scheduled:
            raise Deadlock("Every task waits, and no timer or thread is left that could wake one.")
        self._now = max(self._now, self._scheduled[0].when())


def run_virtual(main: Callable[[Clock], Coroutine[Any, Any, Result]]) -> Result:
    """The result of `main(clock)` on a loop of its own; `clock` tells its time. Raises `Deadlock`."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main(runner.get_loop().time))
