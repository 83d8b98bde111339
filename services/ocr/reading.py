"""One reading a photo: it is kept, shared while it goes on, and gone on with once it was given up."""

import hashlib
from collections.abc import Callable

from anyio import to_thread

from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from chassis.resilience.deadlines import Deadline
from chassis.resilience.single_flight import SharedCalls
from chassis.scope import current_scope
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from services.ocr.cache import RecentlyUsed, ReplyCache
from services.ocr.engine import OcrEngine, Progress

_UNFINISHED = 64
"""Photos whose readings are kept half done: boxes and texts, some tens of kilobytes each."""


class PhotoReader:
    """Reads photos by their bytes. Work that nobody waits for stops, and what was done of it is kept."""

    def __init__(self, max_side: int, cache_entries: int, looked_up: Callable[[bool], None]) -> None:
        self._max_side = max_side
        self._replies = ReplyCache(cache_entries, looked_up)
        self._unfinished = RecentlyUsed[Progress](_UNFINISHED)
        self._calls = SharedCalls[OcrReply]()

    async def read(self, data: bytes, pool: EnginePool[OcrEngine], deadline: Deadline) -> OcrReply:
        """The reply for a photo. Raises what decoding, the pool and the engine raise."""
        digest = (await to_thread.run_sync(hashlib.sha256, data)).hexdigest()
        key = current_scope(), digest  # what is kept tells nobody what others asked
        kept = self._replies.get(key)
        if kept is not None:
            return kept

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
