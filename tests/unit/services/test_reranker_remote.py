"""Reranking on a remote server, in each API shape."""

import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio.to_thread
import pytest
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from chassis.errors import DependencyUnavailable
from chassis.http.remote import RemoteServer
from chassis.http.serving import BoundApp, listen, running
from services.reranker.app import create_app
from services.reranker.engines.remote import RemoteReranker, RemoteShape
from services.reranker.settings import Engine, RerankerSettings
from tests.live import live

MODEL = "acme/reranker-tiny"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CohereRequest(Strict):
    model: Literal["acme/reranker-tiny"]
    query: str = Field(min_length=1)
    documents: list[str] = Field(min_length=1, max_length=1000)
    top_n: int | None = Field(default=None, ge=1)
    return_documents: bool = True


class TeiRequest(Strict):
    query: str = Field(min_length=1)
    texts: list[str] = Field(min_length=1, max_length=4)
    raw_scores: bool = False
    return_text: bool = False
    truncate: bool = False


Results = list[dict[str, Any]]
Fault = Callable[[Results], Any]
"""Turns good results into what is sent: other results, or another body."""


def overlap(query: str, text: str) -> float:
    """The share of the query's words that the text holds."""
    words = query.casefold().split()
    return sum(word in text.casefold() for word in words) / len(words)


@dataclass
class RerankServer:
    """`score` scores; `fault` spoils replies; `queries` and `sizes`: what came, request by request."""

    score: Callable[[str, str], float] = overlap
    fault: Fault | None = None
    queries: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)

    def app(self) -> FastAPI:
        """The server."""
        app = FastAPI()

        @app.post("/v1/rerank")
        async def cohere(request: Request, body: CohereRequest) -> Response:
            results = self._results(request, body.query, body.documents, "relevance_score")
            if body.return_documents:
                results = [each | {"document": {"text": body.documents[each["index"]]}} for each in results]
            whole = {"id": "r-1", "model": MODEL, "usage": {"total_tokens": 1}}
            return self._reply(results[: body.top_n], lambda sent: whole | {"results": sent})

        @app.post("/rerank")
        async def tei(request: Request, body: TeiRequest) -> Response:
            return self._reply(self._results(request, body.query, body.texts, "score"), lambda sent: sent)

        return app

    def _results(self, request: Request, query: str, texts: Sequence[str], key: str) -> Results:
        self.queries.append(query)
        self.sizes.append(len(texts))
        self.keys.add(request.headers.get("authorization"))
        results = [{"index": i, key: self.score(query, text)} for i, text in enumerate(texts)]
        return sorted(results, key=lambda result: -result[key])

    def _reply(self, results: Results, wrap: Callable[[Any], Any]) -> Response:
        sent = self.fault(results) if self.fault else results
        return Response(json.dumps(wrap(sent)), media_type="application/json")


def _every_score(value: Any) -> Fault:
    def spoil(results: Results) -> Any:
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
EXPECTED = [overlap(QUERY, document) for document in DOCUMENTS]


@asynccontextmanager
async def serving(server: RerankServer) -> AsyncIterator[str]:
    """The address of a running `server`."""
    bound = BoundApp(server.app(), listen("127.0.0.1", 0))
    async with running([bound]):
        yield bound.url


@asynccontextmanager
async def reranking(server: RerankServer, shape: RemoteShape) -> AsyncIterator[RemoteReranker]:
    """An engine on the running `server`."""
    async with serving(server) as url:
        with closing(RemoteServer(url, "secret", MODEL, "reranker")) as remote:
            yield RemoteReranker(remote, shape, per_request=4)


async def scores(engine: RemoteReranker, documents: list[str], entity: str | None = None) -> list[float]:
    return await anyio.to_thread.run_sync(engine.rerank, QUERY, documents, entity)


@pytest.mark.parametrize("shape", SHAPES)
async def test_scores_come_back_in_the_order_of_the_documents(shape: RemoteShape) -> None:
    server = RerankServer()
    async with reranking(server, shape) as engine:
        assert await scores(engine, DOCUMENTS) == pytest.approx(EXPECTED)
        assert await scores(engine, []) == []
        await scores(engine, DOCUMENTS[:1], "Gorm Hall")
    assert server.queries[-1] == "who built the tower (about Gorm Hall)"
    assert server.sizes[:-1] == ([6] if shape is RemoteShape.COHERE else [4, 2])
    assert server.keys == {"Bearer secret"}


@pytest.mark.parametrize("shape", SHAPES)
async def test_raw_logits_become_probabilities_in_the_same_order(shape: RemoteShape) -> None:
    server = RerankServer(score=lambda query, text: 8 * overlap(query, text) - 3)
    async with reranking(server, shape) as engine:
        result = await scores(engine, DOCUMENTS)
        server.score = lambda query, text: 0.5
        later = await scores(engine, DOCUMENTS[:1])
    assert result == pytest.approx([1 / (1 + math.exp(3 - 8 * each)) for each in EXPECTED])
    assert later == pytest.approx([1 / (1 + math.exp(-0.5))])  # the server is known to send logits


async def test_logits_beyond_all_bounds_stay_in_0_to_1() -> None:
    server = RerankServer(score=lambda query, text: 1e300 if "Ada" in text else -1e300)
    async with reranking(server, RemoteShape.COHERE) as engine:
        assert await scores(engine, DOCUMENTS[:2]) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("shape", SHAPES)
async def test_unusable_results_are_an_error(shape: RemoteShape) -> None:
    server = RerankServer()
    async with reranking(server, shape) as engine:
        for name, fault in FAULTS.items():
            server.fault = fault
            with pytest.raises(DependencyUnavailable, match="another shape"):
                pytest.fail(f"{name}: {await scores(engine, DOCUMENTS[:3])}")


async def test_the_service_passes_the_servers_scores_on() -> None:
    async with serving(RerankServer()) as url:
        settings = RerankerSettings(
            port=0,
            engine=Engine.REMOTE,
            remote_url=url,
            remote_key=SecretStr("secret"),
            remote_model=MODEL,
            remote_shape=RemoteShape.TEI,
            remote_batch=4,
        )
        async with live(create_app(settings)) as client:
            reply = (await client.post("/v1/rerank", json={"query": QUERY, "documents": DOCUMENTS})).json()
            ready = await client.get("/health/ready")
    assert ready.status_code == 200
    assert reply["model"] == MODEL
    values = {result["index"]: result["relevance_score"] for result in reply["results"]}
    assert [values[index] for index in range(6)] == pytest.approx(EXPECTED)


async def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match="coarse, fine or both"):
        RerankerSettings(engine=Engine.CASCADE, coarse=False, fine=False)
    with pytest.raises(ValidationError, match="set coarse_model and fine_model"):
        RerankerSettings(model="some/model")
