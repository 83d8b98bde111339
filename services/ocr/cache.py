"""What is kept by a photo's bytes: the same photo comes back with every turn of a conversation."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from contracts.ocr import OcrReply

Key = tuple[str, str]
"""The caller's scope (`chassis.scope`) and the photo's SHA-256."""
Kept = TypeVar("Kept")


def nobody(_: bool) -> None:
    """For caches whose lookups nobody counts."""


class RecentlyUsed(Generic[Kept]):
    """At most `capacity` values; the least recently used goes first. Thread-safe."""

    def __init__(self, capacity: int, looked_up: Callable[[bool], None] = nobody) -> None:
        """`looked_up` is told for each lookup whether a value was kept."""
        self._capacity = capacity
        self._looked_up = looked_up
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Kept | None:
        """The value kept under a key, which counts as a use."""
        with self._lock:
            value = self._kept.get(key)
            if value is not None:
                self._kept.move_to_end(key)
        self._looked_up(value is not None)
        return value

    def put(self, key: Key, value: Kept) -> None:
        """Keep `value`; the least recently used one goes when there is no room."""
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)

    def drop(self, key: Key) -> None:
        """Keep nothing under a key."""
        with self._lock:
            self._kept.pop(key, None)

    def __len__(self) -> int:
        return len(self._kept)


ReplyCache = RecentlyUsed[OcrReply]
"""Replies, least recently used first out."""
