"""Work beside requests, which ends with the gateway."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from anyio.abc import TaskGroup

from gateway.planning.run import side_by_side


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
