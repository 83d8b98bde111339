"""Reading a photo over HTTP: replies are cached, and a reading goes on where an earlier caller left."""

import hashlib
from collections.abc import Callable
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, File, Request, UploadFile

from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from chassis.recent import RecentlyUsed
from chassis.resilience.deadlines import Deadline
from chassis.scope import current_scope
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from services.ocr.engine import OcrEngine, Progress

router = Router()

Pool = Annotated[EnginePool[OcrEngine], Depends(engine_pool)]
Key = tuple[str, str]
"""The caller's scope (`chassis.scope`) and the photo's SHA-256."""

_UNFINISHED = 64
"""Photos whose readings are kept half done: boxes and texts, some tens of kilobytes each."""


@router.post("/v1/ocr")
async def read_photo(
    request: Request, image: Annotated[UploadFile, File()], pool: Pool, deadline: RequestDeadline
) -> OcrReply:
    """The photo's text lines in reading order; one seen before in the same scope comes from the cache."""
    reader: PhotoReader = request.app.state.reader
    return await reader.read(await image.read(), pool, deadline)


class PhotoReader:
    """Reads photos. A reading stops when its caller leaves; a later request goes on with it."""

    def __init__(self, max_side: int, cache_entries: int, count_lookup: Callable[[bool], None]) -> None:
        """`count_lookup` is called for each photo with whether its reply was cached."""
        self._max_side = max_side
        self._replies = RecentlyUsed[Key, OcrReply](cache_entries)
        self._unfinished = RecentlyUsed[Key, Progress](_UNFINISHED)
        self._count_lookup = count_lookup

    async def read(self, data: bytes, pool: EnginePool[OcrEngine], deadline: Deadline) -> OcrReply:
        """Return the reply for a photo. Raises what decoding, the pool and the engine raise."""
        digest = (await to_thread.run_sync(hashlib.sha256, data)).hexdigest()
        key = current_scope(), digest  # so that no tenant can find out what another one sent
        cached = self._replies.get(key)
        self._count_lookup(cached is not None)
        if cached is not None:
            return cached
        progress = self._unfinished.get(key) or Progress()
        self._unfinished.put(key, progress)
        reply = await pool.run(lambda engine: self._read(engine, data, progress), deadline)
        self._unfinished.drop(key)
        self._replies.put(key, reply)
        return reply

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
