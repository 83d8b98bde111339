"""Replies by the photo's bytes: the same photo comes back with every turn of a conversation."""

import threading
from collections import OrderedDict

from contracts.ocr import OcrReply


class ReplyCache:
    """Least recently used replies, at most `capacity` of them; thread-safe."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._replies: OrderedDict[str, OcrReply] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: str) -> OcrReply | None:
        """The reply kept for a SHA-256, which counts as a use."""
        with self._lock:
            reply = self._replies.get(digest)
            if reply is not None:
                self._replies.move_to_end(digest)
            return reply

    def put(self, digest: str, reply: OcrReply) -> None:
        """Keep `reply`; the least recently used one goes when there is no room."""
        with self._lock:
            self._replies[digest] = reply
            self._replies.move_to_end(digest)
            while len(self._replies) > self._capacity:
                self._replies.popitem(last=False)

    def __len__(self) -> int:
        return len(self._replies)
