"""A progress bar for long work."""

import os
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def bar(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """Return the same items. A terminal shows how many have gone by, in the first process of several."""
    from tqdm import tqdm

    hidden = True if os.environ.get("LOCAL_RANK", "0") != "0" else None  # None: where there is no terminal
    shown: Iterable[Item] = tqdm(
        items, desc=what, total=total, disable=hidden, dynamic_ncols=True, leave=False
    )
    return shown
