"""The cropper over HTTP."""

import io
from typing import Any

import pytest
from PIL import Image

from contracts.cropper import CropReply
from services.cropper.app import create_app
from services.cropper.settings import CropperSettings
from tests.live import live
from tests.unit.services.cropper_scenes import scene

pytestmark = pytest.mark.anyio


def jpeg(seed: int = 0) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(scene(seed).photo).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


async def test_regions_come_with_their_rectified_jpeg() -> None:
    async with live(create_app(CropperSettings(port=0))) as client:
        files = {"image": ("photo.jpg", jpeg(), "image/jpeg")}
        reply = await client.post("/v1/crop", files=files, data={"max_regions": "3"})
        labelled = await client.post("/v1/crop", files=files, data={"labels": ["book", "sign"]})
    assert {region["label"] for region in labelled.json()["regions"]} <= {"book", "sign"}
    crops = CropReply.model_validate_json(reply.content)
    assert 1 <= len(crops.regions) <= 3
    assert (crops.width, crops.height) == (960, 1280)
    best = Image.open(io.BytesIO(crops.regions[0].image))
    assert best.format == "JPEG"
    assert max(best.size) > 300
    box = crops.regions[0].box
    assert 0 <= box.left < box.right <= 960
    assert 0 <= box.top < box.bottom <= 1280


async def test_invalid_requests_are_refused() -> None:
    cases: list[tuple[bytes, dict[str, Any], str]] = [
        (b"just words", {}, "unsupported_image"),
        (b"", {}, "corrupt_image"),
        (jpeg(), {"max_regions": "0"}, "invalid_request"),
        (jpeg(), {"labels": ["x" * 101]}, "invalid_request"),
    ]
    async with live(create_app(CropperSettings(port=0))) as client:
        for content, fields, kind in cases:
            files = {"image": ("photo.jpg", content, "image/jpeg")}
            reply = await client.post("/v1/crop", files=files, data=fields)
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}"
