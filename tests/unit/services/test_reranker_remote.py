"""Reranking on a remote server, in each API shape."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio.to_thread
import pytest
from pydantic import SecretStr, ValidationError

from chassis.errors import DependencyUnavailable
from chassis.http.remote import RemoteServer
from services.reranker.app import create_app
from services.reranker.engines.remote import RemoteReranker, RemoteShape
from services.reranker.settings import Engine, RerankerSettings
from tests.live import live, served
from tests.unit.services.model_server import KEY, MODEL, Fault, ModelServer, relevance


def _every_score(value: Any) -> Fault:
    def spoil(results: list[dict[str, Any]]) -> Any:
        return [{key: old if key == "index" else value for key, old in each.items()} for each in results]

    return spoil


FAULTS: dict[str, Fault] = {
    "a result missing": lambda results: results[1:],
    "a score that is no number": _every_score("high"),
    "a score that is none": _every_score(math.nan),
    "a score too large for a float": _every_score(10**400),
    "results that are no list": lambda results: {"scores": [1.0 for _ in results]},
}
SHAPES = [RemoteShape.COHERE, RemoteShape.TEI]
QUERY = "who built the tower"
DOCUMENTS = ["A dog.", "Ada built the tower.", "the tower", "who built the tower", "built", "Who?"]
EXPECTED = [relevance([QUERY], document) for document in DOCUMENTS]


@asynccontextmanager
async def reranking(server: ModelServer, shape: RemoteShape) -> AsyncIterator[RemoteReranker]:
    """An engine on the running `server`."""
    async with served(server.app()) as url:
        with closing(RemoteServer(url, KEY, MODEL, "reranker")) as remote:
            yield RemoteReranker(remote, shape, per_request=4)


async def scores(engine: RemoteReranker, documents: list[str], entity: str | None = None) -> list[float]:
    return await anyio.to_thread.run_sync(engine.rerank, QUERY, documents, entity)


async def test_scores_come_back_in_the_order_of_the_documents() -> None:
    server = ModelServer()
    async with reranking(server, RemoteShape.COHERE) as engine:
        assert await scores(engine, DOCUMENTS) == pytest.approx(EXPECTED)
        assert await scores(engine, []) == []
        await scores(engine, DOCUMENTS[:1], "Gorm Hall")
    assert [body.query for body in server.bodies] == [QUERY, "who built the tower (about Gorm Hall)"]


@pytest.mark.parametrize("shape", SHAPES)
async def test_raw_logits_become_probabilities_in_the_same_order(shape: RemoteShape) -> None:
    server = ModelServer(score=lambda share: 8 * share - 3)
    async with reranking(server, shape) as engine:
        result = await scores(engine, DOCUMENTS)
        server.score = lambda _: 0.5
        later = await scores(engine, DOCUMENTS[:1])
        server.score = lambda share: 1e300 if share > 0.7 else -1e300
        assert await scores(engine, DOCUMENTS[:2]) == pytest.approx([0.0, 1.0])
    assert result == pytest.approx([1 / (1 + math.exp(3 - 8 * each)) for each in EXPECTED])
    assert later == pytest.approx([1 / (1 + math.exp(-0.5))])  # the server is known to send logits


@pytest.mark.parametrize("shape", SHAPES)
async def test_unusable_results_are_an_error(shape: RemoteShape) -> None:
    server = ModelServer()
    async with reranking(server, shape) as engine:
        for name, fault in FAULTS.items():
            server.spoil = fault
            with pytest.raises(DependencyUnavailable, match="another shape"):
                pytest.fail(f"{name}: {await scores(engine, DOCUMENTS[:3])}")


async def test_service_sends_batches_to_tei_and_returns_its_scores() -> None:
    server = ModelServer()
    async with served(server.app()) as url:
        settings = RerankerSettings(
            port=0,
            engine=Engine.REMOTE,
            remote_url=url,
            remote_key=SecretStr(KEY),
            remote_model=MODEL,
            remote_shape=RemoteShape.TEI,
            remote_batch=4,
        )
        async with live(create_app(settings)) as client:
            reply = (await client.post("/v1/rerank", json={"query": QUERY, "documents": DOCUMENTS})).json()
            assert (await client.get("/health/ready")).status_code == 200
    assert reply["model"] == MODEL
    values = {result["index"]: result["relevance_score"] for result in reply["results"]}
    assert [values[index] for index in range(6)] == pytest.approx(EXPECTED)
    assert [len(body.texts) for body in server.bodies if body.query == QUERY] == [4, 2]


async def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match="coarse, fine or both"):
        RerankerSettings(engine=Engine.CASCADE, coarse=False, fine=False)
    with pytest.raises(ValidationError, match="set coarse_model and fine_model"):
        RerankerSettings(model="some/model")
