"""Task groups for work beside other work."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import TaskGroup


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
