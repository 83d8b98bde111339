"""A progress bar for long work."""

from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def bar(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Return the same items. A terminal shows how many have gone by."""
    from tqdm import tqdm

    shown: Iterable[Item] = tqdm(  # disable None: hidden where there is no terminal
        items, desc=what, total=total, disable=None, dynamic_ncols=True, leave=False
    )
    return shown
