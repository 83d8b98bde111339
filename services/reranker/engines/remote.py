"""Rerank by a ready-made server: the shape of Cohere, Jina and vLLM, vLLM's with a photo, or that of TEI."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chassis.http.remote import RemoteServer, content_part, in_index_order, without_controls
from chassis.pixels import encode_jpeg
from services.reranker.engine import INSTRUCTION, Photo, Reranker, with_entity

_MOST_TOKENS = 512
"""Of a question and of a document: vLLM cuts longer ones at the limit of the request."""


class RemoteShape(StrEnum):
    """The server's API. `vllm`: as `cohere`, with the photo in the query and an instruction."""

    COHERE = "cohere"
    TEI = "tei"
    VLLM = "vllm"


@dataclass(frozen=True, slots=True)
class _Adapter:
    """A shape: where requests go, and where a reply keeps its results and their scores."""

    path: str
    results: str | None
    score: str


_ADAPTERS = {
    RemoteShape.COHERE: _Adapter("/v1/rerank", "results", "relevance_score"),
    RemoteShape.TEI: _Adapter("/rerank", None, "score"),
    RemoteShape.VLLM: _Adapter("/v1/rerank", "results", "relevance_score"),
}


class RemoteReranker(Reranker):
    """`Reranker` on a server. It gets the entity's name, and the photo if its shape is `vllm`.

    Servers send probabilities or raw logits and do not say which. Scores outside 0..1 are logits: from the
    first such reply on, all scores of this server go through a logistic curve, so that their order holds.
    """

    def __init__(self, server: RemoteServer, shape: RemoteShape, per_request: int = 32) -> None:
        """`per_request`: documents that TEI takes at once (its `--max-client-batch-size`)."""
        self._server = server
        self._shape = shape
        self._per_request = per_request
        self._logits = False
        self.name = server.model or f"remote-{shape.value}"

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        entity: str | None,
        photo: Photo | None = None,
        fine_top: int | None = None,
    ) -> list[float]:
        """Raises what `RemoteServer` raises, also for a reply that does not score each document once."""
        question = with_entity(query, entity)
        step = self._per_request if self._shape is RemoteShape.TEI else max(1, len(documents))
        scores: list[float] = []
        for start in range(0, len(documents), step):
            scores += self._request(question, documents[start : start + step], photo)
        if not all(0 <= score <= 1 for score in scores):
            self._logits = True
        if not self._logits:
            return scores
        return [1 / (1 + math.exp(-max(-500.0, min(500.0, score)))) for score in scores]

    def _request(self, query: str, documents: Sequence[str], photo: Photo | None) -> list[float]:
        adapter = _ADAPTERS[self._shape]
        is_tei = self._shape is RemoteShape.TEI
        reply = self._server.post(adapter.path, self._body(query, documents, photo), names_model=not is_tei)
        try:
            results = in_index_order(reply[adapter.results] if adapter.results else reply, len(documents))
            return [_score(result[adapter.score]) for result in results]
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise self._server.broken_reply() from error

    def _body(self, query: str, documents: Sequence[str], photo: Photo | None) -> Mapping[str, Any]:
        if self._shape is RemoteShape.VLLM:
            return _seeing_body(query, documents, photo)
        if self._shape is RemoteShape.TEI:
            return {
                "query": query,
                "texts": list(documents),
                "raw_scores": False,
                "return_text": False,
                "truncate": True,
            }
        return {
            "query": query,
            "documents": list(documents),
            "top_n": len(documents),
            "return_documents": False,
        }


def _seeing_body(query: str, documents: Sequence[str], photo: Photo | None) -> Mapping[str, Any]:
    """The photo comes before the question, as Qwen3-VL-Reranker was trained (its repository)."""
    question: Any = without_controls(query)
    if photo is not None:
        question = {"content": [content_part(encode_jpeg(photo)), content_part(question)]}
    return {
        "query": question,
        "documents": [without_controls(text) or " " for text in documents],
        "instruction": INSTRUCTION,
        "max_tokens_per_query": _MOST_TOKENS,
        "max_tokens_per_doc": _MOST_TOKENS,
    }


def _score(score: Any) -> float:
    if type(score) not in (int, float) or not math.isfinite(score):
        raise ValueError("score: not a number")
    return float(score)
