"""Reading a photo over HTTP."""

from typing import Annotated

from fastapi import Depends, File, Request, UploadFile

from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router
from chassis.models.workers import EnginePool
from contracts.ocr import OcrReply
from services.ocr.engine import OcrEngine
from services.ocr.reading import PhotoReader

router = Router()

Pool = Annotated[EnginePool[OcrEngine], Depends(engine_pool)]


@router.post("/v1/ocr")
async def read_photo(
    request: Request, image: Annotated[UploadFile, File()], pool: Pool, deadline: RequestDeadline
) -> OcrReply:
    """The photo's text lines in reading order; one seen before in the same scope comes from the cache."""
    reader: PhotoReader = request.app.state.reader
    return await reader.read(await image.read(), pool, deadline)
