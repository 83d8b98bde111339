"""A server that reranks in the shapes of Cohere/Jina/vLLM and of TEI, as strictly as the real ones.

Each refuses what the real one refuses: another shape's fields, no documents, more than it takes at once.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

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
"""Turns good results into what is sent: other results, another body, or a whole Response."""


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
        if isinstance(sent, Response):
            return sent
        return Response(json.dumps(wrap(sent)), media_type="application/json")


def _each(**changes: Callable[[dict[str, Any]], Any]) -> Fault:
    def spoil(results: Results) -> Any:
        return [result | {name: change(result) for name, change in changes.items()} for result in results]

    return spoil


def _every_score(value: Any) -> Fault:
    def spoil(results: Results) -> Any:
        return [{key: kept if key == "index" else value for key, kept in each.items()} for each in results]

    return spoil


FAULTS: dict[str, Fault] = {
    "a result missing": lambda results: results[1:],
    "no results": lambda results: [],
    "a result twice": lambda results: [*results, results[0]],
    "an index twice": _each(index=lambda result: 0),
    "an index out of range": _each(index=lambda result: result["index"] + 1),
    "an index below 0": _each(index=lambda result: result["index"] - 1),
    "an index that is no number": _each(index=lambda result: str(result["index"])),
    "an index that is true or false": _each(index=lambda result: bool(result["index"])),
    "a score that is no number": _every_score("high"),
    "no score": _every_score(None),
    "a score that is none": _every_score(math.nan),
    "an infinite score": _every_score(math.inf),
    "a score too large for a float": _every_score(10**400),
    "results that are no objects": lambda results: [1.0 for _ in results],
    "results that are no list": lambda results: {"scores": [1.0 for _ in results]},
    "nothing": lambda results: None,
    "a page": lambda results: Response("<html>Sign in</html>", media_type="text/html"),
    "an error that says 200": lambda results: Response('{"error": "busy"}', media_type="application/json"),
}
