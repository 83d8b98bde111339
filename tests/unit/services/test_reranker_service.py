"""The reranker over HTTP."""

import json
from typing import Any

import httpx
import numpy as np
import pytest

from chassis.pixels import encode_jpeg
from services.reranker.app import create_app
from services.reranker.settings import RerankerSettings
from tests.live import live

pytestmark = pytest.mark.anyio

PASSAGES = [
    "The harbour was dredged twice.",
    "The author of The Salt Road is Mira Holm.",
    "The Salt Road has 312 pages.",
]


async def test_the_passage_that_answers_comes_first() -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        body = {"query": "Who wrote The Salt Road?", "documents": PASSAGES, "return_documents": True}
        reply = (await client.post("/v1/rerank", json=body)).json()
    assert reply["results"][0]["document"]["text"] == PASSAGES[1]
    scores = [result["relevance_score"] for result in reply["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_top_n_limits_the_results() -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        body = {"query": "How many pages?", "documents": PASSAGES, "top_n": 1}
        reply = (await client.post("/v1/rerank", json=body)).json()
    assert len(reply["results"]) == 1


async def test_an_empty_query_is_a_problem_that_names_the_field() -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        reply = await client.post("/v1/rerank", json={"query": "", "documents": []})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["type"] == "urn:loreglass:problem:invalid_request"
    assert reply.json()["detail"].startswith("query:")


BODY = {"query": "Who wrote The Salt Road?", "documents": PASSAGES}
JPEG = encode_jpeg(np.full((40, 60, 3), 90, np.uint8))
IMAGE = ("photo.jpg", JPEG, "image/jpeg")


async def send_form(fields: dict[str, Any], files: Any = None) -> httpx.Response:
    async with live(create_app(RerankerSettings(port=0))) as client:
        parts = [(name, (None, value)) for name, value in fields.items()]
        return await client.post("/v1/rerank", files=[*parts, *(files or [])])


async def test_a_form_with_a_photo_is_scored_as_the_json_in_it() -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        in_json = (await client.post("/v1/rerank", json=BODY)).json()["results"]
    for files in ([], [("image", IMAGE)]):
        reply = await send_form({"request": json.dumps(BODY)}, files)
        assert reply.status_code == 200
        assert reply.json()["results"] == in_json


async def test_the_request_part_may_be_a_file() -> None:
    part = ("request", ("request.json", json.dumps(BODY).encode(), "application/json"))
    assert (await send_form({}, [part, ("image", IMAGE)])).status_code == 200


async def test_a_long_request_part_is_read() -> None:
    body = json.dumps({"query": "Who?", "documents": ["a book " * 200_000]})
    assert (await send_form({"request": body})).status_code == 200


@pytest.mark.parametrize(
    ("fields", "files", "status", "kind"),
    [
        ({}, [("image", IMAGE)], 422, "invalid_request"),
        ({"request": json.dumps(BODY), "image": "a photo"}, [], 422, "invalid_request"),
        ({"request": json.dumps(BODY), "query": "Who?"}, [], 422, "invalid_request"),
        ({"request": json.dumps(BODY)}, [("image", IMAGE)] * 2, 422, "invalid_request"),
        ({"request": json.dumps(BODY)}, [("image", IMAGE)] * 5, 413, "payload_too_large"),
        ({"request": "{"}, [], 400, "malformed_request"),
        ({"request": json.dumps(BODY | {"top_n": 0})}, [], 422, "invalid_request"),
        ({"request": json.dumps(BODY | {"topn": 1})}, [], 422, "invalid_request"),
        ({"request": "[]"}, [], 422, "invalid_request"),
        (
            {"request": json.dumps(BODY)},
            [("image", ("a.jpg", b"a text", "image/jpeg"))],
            415,
            "unsupported_image",
        ),
        ({"request": json.dumps(BODY)}, [("image", ("a.jpg", b"", "image/jpeg"))], 422, "corrupt_image"),
        (
            {"request": json.dumps(BODY)},
            [("image", ("a.jpg", JPEG[:200], "image/jpeg"))],
            422,
            "corrupt_image",
        ),
    ],
)
async def test_a_form_that_is_wrong_is_a_problem(
    fields: dict[str, str], files: list[Any], status: int, kind: str
) -> None:
    reply = await send_form(fields, files)
    assert (reply.status_code, reply.json()["type"]) == (status, f"urn:loreglass:problem:{kind}")


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"query": "\\ud800", "documents": []}', "application/json", 422),
        (b"[" * 100_000, "application/json", 400),
        (b"[]", "application/json", 422),
        (b'{"query": "Who?", "documents": "Ada"}', "application/json", 422),
        (b"query=Who", "application/x-www-form-urlencoded", 415),
        (b"--x", "multipart/form-data", 400),
        (b"no form", "multipart/form-data; boundary=x", 400),
    ],
)
async def test_a_body_that_cannot_be_read_is_a_problem(content: bytes, kind: str, status: int) -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        reply = await client.post("/v1/rerank", content=content, headers={"content-type": kind})
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
