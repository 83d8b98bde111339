"""Progress bars on stderr, for work that takes more than a moment."""

from collections.abc import Iterable, Sized
from typing import TypeVar

Item = TypeVar("Item")


def bar(items: Iterable[Item], what: str, total: int | None = None) -> Iterable[Item]:
    """The same items, shown as they go by."""
    from tqdm import tqdm

    length = total if total is not None or not isinstance(items, Sized) else len(items)
    shown: Iterable[Item] = tqdm(items, desc=what, total=length, dynamic_ncols=True, leave=False)
    return shown


def silent(items: Iterable[Item], what: str) -> Iterable[Item]:
    """The same items, unseen: where another process shows them."""
    return items
