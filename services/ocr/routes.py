"""Reading a photo over HTTP."""

import hashlib
from typing import Annotated

import anyio.to_thread
from fastapi import Depends, File, Request, UploadFile

from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb
from chassis.scope import current_scope
from contracts.geometry import Point
from contracts.ocr import OcrReply, TextLine
from services.ocr.cache import ReplyCache
from services.ocr.engine import OcrEngine

router = Router()

Pool = Annotated[EnginePool[OcrEngine], Depends(engine_pool)]


@router.post("/v1/ocr")
async def read_photo(
    request: Request, image: Annotated[UploadFile, File()], pool: Pool, deadline: RequestDeadline
) -> OcrReply:
    """The photo's text lines in reading order; one seen before in the same scope comes from the cache."""
    cache: ReplyCache = request.app.state.reply_cache
    max_side: int = request.app.state.max_side
    data = await image.read()
    digest = (await anyio.to_thread.run_sync(hashlib.sha256, data)).hexdigest()
    key = current_scope(), digest
    kept = cache.get(key)
    if kept is not None:
        return kept
    reply = await pool.run(lambda engine: _read(engine, data, max_side), deadline)
    cache.put(key, reply)
    return reply


def _read(engine: OcrEngine, data: bytes, max_side: int) -> OcrReply:
    photo = decode_rgb(data, max_side=max_side)
    lines = [
        TextLine(
            text=line.text, score=line.score, quadrilateral=[Point(x=x, y=y) for x, y in line.quadrilateral]
        )
        for line in engine.read(photo)
    ]
    return OcrReply(lines=lines, width=photo.shape[1], height=photo.shape[0])
