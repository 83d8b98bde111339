"""Long work: a progress bar, and several workers."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import anyio

from evaluation.data.model import EvaluationError

Item = TypeVar("Item")


def bar(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Return the same items. A terminal shows how many have gone by."""
    shown: Iterable[Item] = counter(what, total, items)
    return shown


def counter(what: str, total: int | None, items: Iterable[Any] | None = None) -> Any:
    """Return a bar as a context, to call `update` on. Only a terminal shows it."""
    from tqdm import tqdm

    return tqdm(items, desc=what, total=total, disable=None, dynamic_ncols=True, leave=False)


async def in_parallel(items: Iterable[Item], work: Callable[[Item], Awaitable[None]], workers: int) -> None:
    """Do the work of every item, `workers` at once. The first `EvaluationError` stops all and is raised."""
    left, failures = iter(items), list[EvaluationError]()

    async def worker(scope: anyio.CancelScope) -> None:
        for item in left:
            try:
                await work(item)
            except EvaluationError as failure:
                failures.append(failure)
                scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(worker, group.cancel_scope)
    if failures:
        raise failures[0]
