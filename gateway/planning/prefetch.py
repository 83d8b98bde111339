"""Work beside other work: task groups, and results that are made beside the stage that will want them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from chassis.resilience.deadlines import Clock

T = TypeVar("T")


@asynccontextmanager
async def prefetching() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group for what is prefetched; the body's error comes out as it was raised.

    asyncio's own: a task of anyio's costs several times as much, and there are three for each question.
    """
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            try:
                yield group
            except Exception as error:
                failure = error
                raise
    except BaseExceptionGroup:
        if failure is None:
            raise
    if failure is not None:
        raise failure


@dataclass(slots=True)
class Waited:
    """The time that a stage has waited for others that run beside it."""

    ms: float = 0.0


WAITED: ContextVar[Waited | None] = ContextVar("waited", default=None)
"""The current stage's wait for prefetched results, whose time belongs to the stages that make them.

Counted as the waiting stage's own, it would make that stage look slow, and later plans leave it out.
"""


class Prefetch(Generic[T]):
    """A result that is worked out beside other stages, or when it is first asked for."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]], default: T, clock: Clock) -> None:
        self._work = work
        self._value = default
        self._clock = clock
        self._running: asyncio.Task[None] | anyio.CancelScope | None = None
        self._given_up = False
        self._finished = asyncio.Event()

    def start(self, group: asyncio.TaskGroup) -> None:
        """Begin in the background. A stage that begins it does not wait for what it waits for."""
        context = copy_context()
        context.run(WAITED.set, None)
        self._running = group.create_task(self._run(), context=context)

    async def result(self) -> T:
        """Wait for it; after `cancel`, the default."""
        if self._finished.is_set() or (self._given_up and self._running is None):
            return self._value
        since = self._clock()
        try:
            if self._running is None:
                with anyio.CancelScope() as self._running:
                    await self._run()
            await self._finished.wait()
            return self._value
        finally:
            waited = WAITED.get()
            if waited is not None:
                waited.ms += (self._clock() - since) * 1000

    def cancel(self) -> None:
        """Stop it, or never begin: nobody needs the result."""
        self._given_up = True
        if self._running is not None and not self._finished.is_set():
            self._running.cancel()
            self._finished.set()  # a task that is cancelled before its first step never takes that

    async def _run(self) -> None:
        try:
            self._value = await self._work()
        finally:
            self._finished.set()


@asynccontextmanager
async def side_by_side() -> AsyncIterator[TaskGroup]:
    """A task group for tasks that run beside the body; the body's error comes out as it was raised."""
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            failure = error
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure


@asynccontextmanager
async def background_group() -> AsyncIterator[TaskGroup]:
    """A group whose tasks are cancelled when the body ends."""
    async with side_by_side() as group:
        yield group
        group.cancel_scope.cancel()


@asynccontextmanager
async def background_task(work: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run `work` until the body ends."""
    async with background_group() as group:
        group.start_soon(work)
        yield
