"""Fake embedding servers as strict as the real ones."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

SIZE = 48
KEY = "sesame"
MODEL = "BAAI/bge-large-en-v1.5"
_OPENAI_FIELDS = {"model", "input", "encoding_format", "dimensions", "user"}
_LETTERS_PER_TOKEN = 6


class Shape(StrEnum):
    """Whose manners the server has."""

    OPENAI = "openai"
    VLLM = "vllm"
    INFINITY = "infinity"
    TEI = "tei"


@dataclass
class EmbeddingServer:
    """`seen`: the texts of each request; `reply`: sent as it is instead of vectors; `status`: likewise."""

    shape: Shape
    seen: list[list[str]] = field(default_factory=list)
    reply: Any = None
    status: int = 200

    @property
    def path(self) -> str:
        """Where it takes embeddings."""
        return "/embeddings" if self.shape is Shape.INFINITY else "/v1/embeddings"

    def app(self) -> FastAPI:
        """The server as an app."""
        app = FastAPI(title=self.shape)
        app.add_api_route(self.path, self._embed, methods=["POST"], response_model=None)
        return app

    async def _embed(self, request: Request) -> Response:
        body = await request.json()
        if refusal := self._refusal(request.headers.get("authorization"), body):
            return JSONResponse({"error": {"message": refusal[1], "type": "invalid"}}, refusal[0])
        if self.status != 200:
            return JSONResponse({"message": "busy"}, self.status, {"Retry-After": "7"})
        self.seen.append(body["input"])
        if self.reply is not None:
            return JSONResponse(self.reply)
        entries = [
            {"object": "embedding", "index": place, "embedding": list(vector)}
            for place, vector in enumerate(map(word_vector, body["input"]))
        ]
        if self.shape is Shape.INFINITY:
            entries.reverse()
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse({"object": "list", "data": entries, "model": MODEL, "usage": usage})

    def _refusal(self, authorization: str | None, body: dict[str, Any]) -> tuple[int, str] | None:
        texts = body.get("input")
        if self.shape is Shape.OPENAI and authorization != f"Bearer {KEY}":
            return 401, "Incorrect API key provided."
        if self.shape is Shape.OPENAI and (unknown := set(body) - _OPENAI_FIELDS):
            return 400, f"Unrecognized request argument supplied: {unknown}"
        if self.shape is Shape.OPENAI and "model" not in body:
            return 400, "you must provide a model parameter"
        if self.shape is Shape.VLLM and body.get("model", MODEL) != MODEL:
            return 404, "The model does not exist."
        if (
            not isinstance(texts, list)
            or not texts
            or not all(isinstance(text, str) and text for text in texts)
        ):
            return 422 if self.shape is Shape.TEI else 400, "input cannot be empty"
        if self.shape is Shape.TEI and len(texts) > 32:
            return 422, "batch size > maximum allowed batch size 32"
        if any(_tokens(text) > 512 for text in texts):
            return 413 if self.shape is Shape.TEI else 400, "maximum context length is 512 tokens"
        if body.get("encoding_format") != "float":
            return 422, "encoding_format must be float"
        return None


def word_vector(text: str) -> Sequence[float]:
    """[SIZE]: the sum of a fixed random direction for each word, of any length."""
    total = np.zeros(SIZE)
    for word in text.lower().replace(":", " ").replace("?", " ").replace(".", " ").split() or [""]:
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
        total += np.random.default_rng(seed).normal(size=SIZE)
    return [float(value) for value in total.astype(np.float32)]


def _tokens(text: str) -> int:
    """At worst: every six letters of a word a token, with [CLS] and [SEP]."""
    return 2 + sum(-(-len(word) // _LETTERS_PER_TOKEN) for word in text.split())
