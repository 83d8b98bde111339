"""The builtin reranker and the reranker's service."""

import json
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chassis.pixels import encode_jpeg
from services.reranker.app import create_app
from services.reranker.engines.builtin import BuiltinReranker
from services.reranker.settings import RerankerSettings
from tests.live import live

ENGINE = BuiltinReranker()


def best(question: str, passages: list[str], entity: str | None = None) -> int:
    scores = ENGINE.rerank(question, passages, entity)
    return scores.index(max(scores))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who is the author of this one?", "Hill Farm was written by Nils Tarr in a lighthouse."),
        ("how many pages does it have", "Hill Farm has 204 pages."),
    ],
)
def test_answering_sentence_ranks_first(question: str, answer: str) -> None:
    others = ["Hill Farm has a blue cover.", "Critics liked Hill Farm very much."]
    assert best(question, [*others, answer], "Hill Farm") == 2


def test_same_fact_about_a_sibling_ranks_second() -> None:
    passages = ["The price of Aero 300 is 89 euros.", "The price of Aero 500 is 129 euros."]
    mine, siblings = ENGINE.rerank("How much is it?", passages, "Aero 300")
    assert mine > siblings


@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=3), st.none() | st.text(max_size=30))
@example("who wrote it", [""], "Ida Lund")
@example("ﾞ ﾟ", ["ﾞ ﾞ ͺ\nﾟ"], "ﾞ ﾟ")  # letters that fold to nothing
@settings(max_examples=8, deadline=None)
def test_any_text_gets_a_probability(query: str, documents: list[str], entity: str | None) -> None:
    scores = ENGINE.rerank(query, documents, entity)
    assert len(scores) == len(documents)
    assert all(0.0 <= score <= 1.0 for score in scores)


PASSAGES = [
    "The harbour was dredged twice.",
    "The author of The Salt Road is Mira Holm.",
    "The Salt Road has 312 pages.",
]


BODY = {"query": "Who wrote The Salt Road?", "documents": PASSAGES}
JPEG = encode_jpeg(np.full((40, 60, 3), 90, np.uint8))
IMAGE = ("photo.jpg", JPEG, "image/jpeg")


async def send_form(client: httpx.AsyncClient, fields: dict[str, Any], files: Any = None) -> httpx.Response:
    parts = [(name, (None, value)) for name, value in fields.items()]
    return await client.post("/v1/rerank", files=[*parts, *(files or [])])


async def test_form_request_is_scored_like_json() -> None:
    part = ("request", ("request.json", json.dumps(BODY).encode(), "application/json"))
    long = json.dumps({"query": "Who?", "documents": [" " * 1_400_000]})
    async with live(create_app(RerankerSettings(port=0))) as client:
        in_json = (await client.post("/v1/rerank", json=BODY | {"return_documents": True})).json()["results"]
        (one,) = (await client.post("/v1/rerank", json=BODY | {"top_n": 1})).json()["results"]
        for fields, files in (
            ({"request": json.dumps(BODY)}, []),
            ({"request": json.dumps(BODY)}, [("image", IMAGE)]),
            ({}, [part, ("image", IMAGE)]),  # the request part may be a file
        ):
            results = (await send_form(client, fields, files)).json()["results"]
            assert results == [each | {"document": None} for each in in_json]
        assert (await send_form(client, {"request": long})).status_code == 200
    assert in_json[0]["document"]["text"] == PASSAGES[1]
    assert one == in_json[0] | {"document": None}
    scores = [result["relevance_score"] for result in in_json]
    assert scores == sorted(scores, reverse=True)


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
        (whole, [("image", ("a.jpg", b"a text", "image/jpeg"))], 415, "unsupported_image"),
    ]
    async with live(create_app(RerankerSettings(port=0))) as client:
        for fields, files, status, kind in cases:
            reply = await send_form(client, fields, files)
            expected = (status, f"urn:loreglass:problem:{kind}")
            assert (reply.status_code, reply.json()["type"]) == expected, (fields, len(files))


async def test_invalid_bodies_are_refused() -> None:
    cases = [
        (b"{", "application/json", 400),
        (b"query=Who", "application/x-www-form-urlencoded", 415),
        (b"no form", "multipart/form-data; boundary=x", 400),
    ]
    async with live(create_app(RerankerSettings(port=0))) as client:
        for content, kind, status in cases:
            reply = await client.post("/v1/rerank", content=content, headers={"content-type": kind})
            assert reply.status_code == status, content
