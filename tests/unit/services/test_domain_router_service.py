"""The domain router over HTTP."""

import io

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


async def test_a_question_comes_back_with_a_probability_for_each_domain() -> None:
    async with live(create_app(DomainRouterSettings(port=0))) as client:
        answer = await client.post("/v1/classify", data={"question": "Who wrote this novel?"})
    reply = ClassifyReply.model_validate(answer.json())
    (only,) = reply.data
    assert only.label is Domain.BOOK
    assert only.num_classes == len(only.probs) == len(Domain)
    assert only.probs[only.index] == max(only.probs)


async def test_photo_and_recognised_text_are_taken() -> None:
    async with live(create_app(DomainRouterSettings(port=0))) as client:
        answer = await client.post(
            "/v1/classify",
            data={"question": "How many pages?", "recognized_text": "a novel"},
            files={"image": ("photo.jpg", jpeg(), "image/jpeg")},
        )
    assert answer.status_code == 200


async def test_a_damaged_photo_is_a_problem() -> None:
    async with live(create_app(DomainRouterSettings(port=0))) as client:
        answer = await client.post(
            "/v1/classify",
            data={"question": "How many pages?"},
            files={"image": ("photo.jpg", jpeg()[:200], "image/jpeg")},
        )
    assert answer.json()["type"] == "urn:loreglass:problem:corrupt_image"


async def test_an_empty_question_is_refused() -> None:
    async with live(create_app(DomainRouterSettings(port=0))) as client:
        answer = await client.post("/v1/classify", data={"question": "", "recognized_text": "x"})
    assert answer.status_code == 422
    assert "question" in answer.json()["detail"]
