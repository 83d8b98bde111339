"""A server that embeds images in the shapes of Infinity, vLLM and Cohere, as strictly as the real ones.

Each refuses what the real one refuses: another shape's fields, URLs that it would have to fetch, more images
than it takes at once, an `input_type` that the model does not define (vLLM).
"""

import base64
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, Request, Response
from PIL import Image
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tests.unit.services.image_encoders import colours, painted

MODEL = "acme/clip-tiny"
HEAD = "data:image/jpeg;base64,"


def _data_uri(value: str) -> str:
    if not value.startswith(HEAD):
        raise ValueError("only data: URIs of JPEGs are read")
    base64.b64decode(value.removeprefix(HEAD), validate=True)
    return value


Uri = Annotated[str, AfterValidator(_data_uri)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InfinityRequest(Strict):
    model: Literal["acme/clip-tiny"]
    input: list[Uri] = Field(min_length=1, max_length=4)
    modality: Literal["image"]


class ImageUrl(Strict):
    url: Uri


class Part(Strict):
    type: Literal["image_url"]
    image_url: ImageUrl


class ChatMessage(Strict):
    role: Literal["user"]
    content: list[Part] = Field(min_length=1, max_length=1)


class VllmRequest(Strict):
    model: Literal["acme/clip-tiny"]
    messages: list[ChatMessage] = Field(min_length=1, max_length=1)


class CohereRequest(Strict):
    model: Literal["acme/clip-tiny"]
    images: list[Uri] = Field(min_length=1, max_length=4)
    embedding_types: list[Literal["float"]] = Field(min_length=1, max_length=1)
    input_type: Literal["image"] | None = None


class InfinityTexts(Strict):
    model: Literal["acme/clip-tiny"]
    input: list[str] = Field(min_length=1, max_length=4)
    modality: Literal["text"]


class VllmTexts(Strict):
    model: Literal["acme/clip-tiny"]
    input: list[str] = Field(min_length=1)
    truncate_prompt_tokens: Literal[-1]


class CohereTexts(Strict):
    model: Literal["acme/clip-tiny"]
    texts: list[str] = Field(min_length=1, max_length=4)
    embedding_types: list[Literal["float"]] = Field(min_length=1, max_length=1)
    truncate: Literal["END"]
    input_type: Literal["search_query"] | None = None


Fault = Callable[[Any], Any]
"""Turns good vectors, or a good reply, into what is sent; a reply also into a whole Response."""


@dataclass
class EmbeddingServer:
    """`spoil` and `fault` change vectors and replies.

    `keys`: Authorization headers.
    """

    requests: int = 0
    keys: set[str | None] = field(default_factory=set)
    spoil: Fault = lambda vectors: vectors
    fault: Fault = lambda reply: reply

    def app(self) -> FastAPI:
        """The server."""
        app = FastAPI()

        @app.post("/embeddings")
        async def infinity(request: Request, body: InfinityRequest | InfinityTexts) -> Response:
            if isinstance(body, InfinityTexts):
                return self._reply(request, _list(_of_texts(body.input)))
            return self._reply(request, _list(self._vectors(body.input)[::-1], backwards=True))

        @app.post("/v1/embeddings")
        async def vllm(request: Request, body: VllmRequest | VllmTexts) -> Response:
            if isinstance(body, VllmTexts):
                return self._reply(request, _list(_of_texts(body.input)))
            uris = [part.image_url.url for part in body.messages[0].content]
            return self._reply(request, _list(self._vectors(uris)))

        @app.post("/v2/embed")
        async def cohere(request: Request, body: CohereRequest | CohereTexts) -> Response:
            vectors = _of_texts(body.texts) if isinstance(body, CohereTexts) else self._vectors(body.images)
            return self._reply(request, {"id": "e-1", "embeddings": {"float": vectors}, "texts": []})

        return app

    def _vectors(self, uris: Sequence[str]) -> list[list[float]]:
        vectors = []
        for uri in uris:
            with Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(HEAD)))) as picture:
                vectors.append([3.0 * float(value) for value in colours(np.asarray(picture))])
        return list(self.spoil(vectors))

    def _reply(self, request: Request, body: Any) -> Response:
        self.requests += 1
        self.keys.add(request.headers.get("authorization"))
        sent = self.fault(body)
        if isinstance(sent, Response):
            return sent
        return Response(json.dumps(sent), media_type="application/json")


def _of_texts(texts: Sequence[str]) -> list[list[float]]:
    return [[2.0 * float(value) for value in colours(painted(text))] for text in texts]


def _list(vectors: list[list[float]], *, backwards: bool = False) -> dict[str, Any]:
    places = reversed(range(len(vectors))) if backwards else range(len(vectors))
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in zip(places, vectors, strict=True)
    ]
    return {"object": "list", "data": data, "model": MODEL, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
