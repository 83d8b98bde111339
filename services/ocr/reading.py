"""One reading a photo: it is kept, shared while it goes on, and gone on with once it was given up."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from anyio import to_thread

from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from chassis.resilience.deadlines import Deadline
from chassis.scope import current_scope
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from services.ocr.engine import OcrEngine, Progress
from services.ocr.shared_calls import SharedCalls

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


_UNFINISHED = 64
"""Photos whose readings are kept half done: boxes and texts, some tens of kilobytes each."""


class PhotoReader:
    """Reads photos by their bytes. Work that nobody waits for stops, and what was done of it is kept."""

    def __init__(self, max_side: int, cache_entries: int, looked_up: Callable[[bool], None]) -> None:
        self._max_side = max_side
        self._replies = RecentlyUsed[OcrReply](cache_entries, looked_up)
        self._unfinished = RecentlyUsed[Progress](_UNFINISHED)
        self._calls = SharedCalls[OcrReply]()

    async def read(self, data: bytes, pool: EnginePool[OcrEngine], deadline: Deadline) -> OcrReply:
        """The reply for a photo. Raises what decoding, the pool and the engine raise."""
        digest = (await to_thread.run_sync(hashlib.sha256, data)).hexdigest()
        key = current_scope(), digest  # what is kept tells nobody what others asked
        cached = self._replies.get(key)
        if cached is not None:
            return cached

        async def begin() -> OcrReply:
            progress = self._unfinished.get(key) or Progress()
            self._unfinished.put(key, progress)
            reply = await pool.run(lambda engine: self._read(engine, data, progress), deadline)
            self._unfinished.drop(key)
            self._replies.put(key, reply)
            return reply

        return await self._calls.get(key, begin, deadline)

    def _read(self, engine: OcrEngine, data: bytes, progress: Progress) -> OcrReply:
        photo = decode_rgb(data, max_side=self._max_side)
        page = engine.read(photo, progress)
        lines = [
            TextLine(
                text=line.text,
                score=line.score,
                quadrilateral=[Point(x=x, y=y) for x, y in line.quadrilateral],
            )
            for line in page.lines
        ]
        return OcrReply(
            lines=lines, width=photo.shape[1], height=photo.shape[0], lines_left_out=page.left_out
        )
