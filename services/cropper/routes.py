"""Crops over HTTP."""

import base64
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, File, Form, Request, UploadFile

from chassis.errors import InvalidRequest
from chassis.http.app import RequestDeadline, engine_pool
from chassis.http.bodies import Router
from chassis.models.cancellation import until_cancelled
from chassis.models.workers import EnginePool
from chassis.pixels import decode_rgb, encode_jpeg
from contracts.cropper import CropReply, Region, RegionKind
from contracts.geometry import Box, Point
from services.cropper.engine import Cropper, FoundRegion
from services.cropper.settings import CropperSettings

router = Router()

Pool = Annotated[EnginePool[Cropper], Depends(engine_pool)]

MOST_LABELS = 32
LONGEST_LABEL = 100
_JPEG_QUALITY = 90


@router.post("/v1/crop")
async def crop_photo(
    request: Request,
    image: Annotated[UploadFile, File()],
    pool: Pool,
    deadline: RequestDeadline,
    labels: Annotated[list[str] | None, Form()] = None,
    max_regions: Annotated[int, Form(ge=1)] = 6,
) -> CropReply:
    """Regions, best first, each seen straight on; may be none."""
    settings: CropperSettings = request.app.state.settings
    labels = [label.strip() for label in labels or [] if label.strip()]
    if len(labels) > MOST_LABELS or any(len(label) > LONGEST_LABEL for label in labels):
        raise InvalidRequest(f"labels: at most {MOST_LABELS}, of {LONGEST_LABEL} characters.")
    limit = min(max_regions, settings.most_regions)
    data = await image.read()
    return await pool.run(lambda engine: _crop(engine, data, labels, limit, settings), deadline)


def _crop(
    engine: Cropper, data: bytes, labels: Sequence[str], limit: int, settings: CropperSettings
) -> CropReply:
    photo = decode_rgb(data, max_side=settings.max_side)
    height, width = photo.shape[:2]
    regions = until_cancelled(engine.crop(photo, labels, limit))
    return CropReply(regions=[_region(each) for each in regions], width=width, height=height)


def _region(region: FoundRegion) -> Region:
    xs, ys = zip(*region.corners, strict=True)
    flags = [
        name for name, raised in (("small", region.small), ("touches_edge", region.touches_edge)) if raised
    ]
    return Region(
        kind=RegionKind(region.kind),
        label=region.label,
        score=region.score,
        box=Box(left=min(xs), top=min(ys), right=max(xs), bottom=max(ys)),
        quadrilateral=[Point(x=x, y=y) for x, y in region.corners],
        flags=flags,
        image=base64.b64encode(encode_jpeg(region.crop, _JPEG_QUALITY)),
    )
