"""The domain router over HTTP."""

import io
from typing import Any

import httpx
import pytest
from PIL import Image

from contracts.domain_router import ClassifyReply, Domain
from services.domain_router.app import create_app
from services.domain_router.settings import DomainRouterSettings
from tests.live import live

pytestmark = pytest.mark.anyio


def jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (64, 48), "green").save(buffer, "JPEG")
    return buffer.getvalue()


async def classify(photo: bytes | None = None, **fields: Any) -> httpx.Response:
    files = None if photo is None else {"image": ("photo.jpg", photo, "image/jpeg")}
    async with live(create_app(DomainRouterSettings(port=0))) as client:
        return await client.post("/v1/classify", data=fields, files=files)


async def test_each_domain_has_a_probability() -> None:
    answer = await classify(jpeg(), question="Who wrote this novel?", recognized_text="a novel")
    (only,) = ClassifyReply.model_validate(answer.json()).data
    assert only.label is Domain.BOOK
    assert only.num_classes == len(only.probs) == len(Domain)
    assert only.probs[only.index] == max(only.probs)


async def test_damaged_photo_and_empty_question_are_refused() -> None:
    answer = await classify(jpeg()[:200], question="How many pages?")
    assert answer.json()["type"] == "urn:loreglass:problem:corrupt_image"
    answer = await classify(question="", recognized_text="x")
    assert (answer.status_code, "question" in answer.json()["detail"]) == (422, True)
