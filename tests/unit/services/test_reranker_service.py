"""The reranker over HTTP."""

import pytest

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


async def test_readiness_runs_the_engine() -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        ready = await client.get("/health/ready")
    assert ready.json() == {"status": "ok", "checks": {"engine": "ok"}}


async def test_an_empty_query_is_a_problem_that_names_the_field() -> None:
    async with live(create_app(RerankerSettings(port=0))) as client:
        reply = await client.post("/v1/rerank", json={"query": "", "documents": []})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["type"] == "urn:loreglass:problem:invalid_request"
    assert reply.json()["detail"].startswith("query:")
