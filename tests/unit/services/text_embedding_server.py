"""A fake embedding server as strict as the real ones."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

SIZE = 48
PATH = "/v2/embeddings"
KEY = "sesame"
MODEL = "BAAI/bge-large-en-v1.5"
_OPENAI_FIELDS = {"model", "input", "encoding_format", "dimensions", "user"}
_LETTERS_PER_TOKEN = 6


@dataclass
class EmbeddingServer:
    """Refuses what any of OpenAI, vLLM, Infinity and TEI refuses; the order of its reply is Infinity's.

    `seen`: the texts of each request; `reply`: sent as it is instead of vectors.
    """

    seen: list[list[str]] = field(default_factory=list)
    reply: Any = None

    def app(self) -> FastAPI:
        """The server as an app."""
        app = FastAPI()
        app.add_api_route(PATH, self._embed, methods=["POST"], response_model=None)
        return app

    async def _embed(self, request: Request) -> Response:
        body = await request.json()
        if refusal := _refusal(request.headers.get("authorization"), body):
            return JSONResponse({"error": {"message": refusal, "type": "invalid"}}, 422)
        self.seen.append(body["input"])
        if self.reply is not None:
            return JSONResponse(self.reply)
        entries = [
            {"object": "embedding", "index": place, "embedding": list(vector)}
            for place, vector in enumerate(map(word_vector, body["input"]))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse({"object": "list", "data": entries[::-1], "model": MODEL, "usage": usage})


def _refusal(authorization: str | None, body: dict[str, Any]) -> str:
    texts = body.get("input")
    if authorization != f"Bearer {KEY}":
        return "Incorrect API key provided."
    if unknown := set(body) - _OPENAI_FIELDS:
        return f"Unrecognized request argument supplied: {unknown}"
    if body.get("model", MODEL) != MODEL:
        return "The model does not exist."
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        return "input cannot be empty"
    if len(texts) > 32:
        return "batch size > maximum allowed batch size 32"
    if any(_tokens(text) > 512 for text in texts):
        return "maximum context length is 512 tokens"
    return "" if body.get("encoding_format") == "float" else "encoding_format must be float"


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
