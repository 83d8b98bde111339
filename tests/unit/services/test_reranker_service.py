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


BODY = {"query": "Who wrote The Salt Road?", "documents": PASSAGES}
JPEG = encode_jpeg(np.full((40, 60, 3), 90, np.uint8))
IMAGE = ("photo.jpg", JPEG, "image/jpeg")


async def send_form(client: httpx.AsyncClient, fields: dict[str, Any], files: Any = None) -> httpx.Response:
    parts = [(name, (None, value)) for name, value in fields.items()]
    return await client.post("/v1/rerank", files=[*parts, *(files or [])])


async def test_form_is_scored_as_the_json_in_it() -> None:
    part = ("request", ("request.json", json.dumps(BODY).encode(), "application/json"))
    long = json.dumps({"query": "Who?", "documents": ["a book " * 200_000]})
    async with live(create_app(RerankerSettings(port=0))) as client:
        in_json = (await client.post("/v1/rerank", json=BODY)).json()["results"]
        for fields, files in (
            ({"request": json.dumps(BODY)}, []),
            ({"request": json.dumps(BODY)}, [("image", IMAGE)]),
            ({}, [part, ("image", IMAGE)]),  # the request part may be a file
        ):
            reply = await send_form(client, fields, files)
            assert reply.json()["results"] == in_json
        assert (await send_form(client, {"request": long})).status_code == 200


async def test_invalid_forms_are_refused() -> None:
    whole = {"request": json.dumps(BODY)}
    cases: list[tuple[dict[str, str], list[Any], int, str]] = [
        ({}, [("image", IMAGE)], 422, "invalid_request"),
        (whole | {"image": "a photo"}, [], 422, "invalid_request"),
        (whole | {"query": "Who?"}, [], 422, "invalid_request"),
        (whole, [("image", IMAGE)] * 2, 422, "invalid_request"),
        (whole, [("image", IMAGE)] * 5, 413, "payload_too_large"),
        ({"request": "{"}, [], 400, "malformed_request"),
        ({"request": json.dumps(BODY | {"top_n": 0})}, [], 422, "invalid_request"),
        ({"request": json.dumps(BODY | {"topn": 1})}, [], 422, "invalid_request"),
        ({"request": "[]"}, [], 422, "invalid_request"),
        (whole, [("image", ("a.jpg", b"a text", "image/jpeg"))], 415, "unsupported_image"),
        (whole, [("image", ("a.jpg", b"", "image/jpeg"))], 422, "corrupt_image"),
        (whole, [("image", ("a.jpg", JPEG[:200], "image/jpeg"))], 422, "corrupt_image"),
    ]
    async with live(create_app(RerankerSettings(port=0))) as client:
        for fields, files, status, kind in cases:
            reply = await send_form(client, fields, files)
            expected = (status, f"urn:loreglass:problem:{kind}")
            assert (reply.status_code, reply.json()["type"]) == expected, (fields, len(files))


async def test_invalid_bodies_are_refused() -> None:
    cases = [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"query": "\\ud800", "documents": []}', "application/json", 422),
        (b'{"query": "", "documents": []}', "application/json", 422),
        (b"[" * 100_000, "application/json", 400),
        (b"[]", "application/json", 422),
        (b'{"query": "Who?", "documents": "Ada"}', "application/json", 422),
        (b"query=Who", "application/x-www-form-urlencoded", 415),
        (b"--x", "multipart/form-data", 400),
        (b"no form", "multipart/form-data; boundary=x", 400),
    ]
    async with live(create_app(RerankerSettings(port=0))) as client:
        for content, kind, status in cases:
            reply = await client.post("/v1/rerank", content=content, headers={"content-type": kind})
            assert reply.status_code == status, content[:40]
            assert reply.headers["content-type"] == "application/problem+json"
