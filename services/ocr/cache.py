"""Replies by the photo's bytes: the same photo comes back with every turn of a conversation."""

import threading
from collections import OrderedDict
from collections.abc import Callable

from contracts.ocr import OcrReply

Key = tuple[str, str]
"""The caller's scope (`chassis.scope`) and the photo's SHA-256."""


def nobody(_: bool) -> None:
    """For caches whose lookups nobody counts."""


class ReplyCache:
    """Least recently used replies, at most `capacity` of them; thread-safe."""

    def __init__(self, capacity: int, looked_up: Callable[[bool], None] = nobody) -> None:
        """`looked_up` is told for each lookup whether a reply was kept."""
        self._capacity = capacity
        self._looked_up = looked_up
        self._replies: OrderedDict[Key, OcrReply] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> OcrReply | None:
        """The reply kept under a key, which counts as a use."""
        with self._lock:
            reply = self._replies.get(key)
            if reply is not None:
                self._replies.move_to_end(key)
        self._looked_up(reply is not None)
        return reply

    def put(self, key: Key, reply: OcrReply) -> None:
        """Keep `reply`; the least recently used one goes when there is no room."""
        with self._lock:
            self._replies[key] = reply
            self._replies.move_to_end(key)
            while len(self._replies) > self._capacity:
                self._replies.popitem(last=False)

    def __len__(self) -> int:
        return len(self._replies)
