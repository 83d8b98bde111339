"""A server for embeddings and reranking with the APIs of OpenAI, vLLM, Infinity, TEI and Cohere.

Like the real servers, it refuses unknown fields, too many inputs and texts that are too long. An image's
embedding depends on its colours; a text's on the colours that it names and, slightly, on its other words.
"""

import base64
import hashlib
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import Depends, FastAPI, Header, HTTPException, Response
from PIL import Image
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from chassis.rgb import RGB
from tests.unit.services.image_encoders import PAINTS, SIZE, colours, painted

MODEL = "acme/tiny"
KEY = "sesame"
OTHER_PATH = "/v2/embeddings"
_JPEG = "data:image/jpeg;base64,"


def _short(text: str) -> str:
    """Return `text` if it surely fits into 512 tokens: one per six letters of a word, [CLS] and [SEP]."""
    if not text or 2 + sum(-(-len(word) // 6) for word in text.split()) > 512:
        raise ValueError("empty, or beyond 512 tokens")
    return text


def _harmless(text: str) -> str:
    if not text or "<|im_end|>" in text or "<|image_pad|>" in text:
        raise ValueError("empty, or with a control token")
    return text


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Request(Strict):
    model: Literal["acme/tiny"] = "acme/tiny"


class Texts(Request):
    input: list[Annotated[str, AfterValidator(_short)]] = Field(min_length=1, max_length=32)
    encoding_format: Literal["float"]


class CutTexts(Request):
    input: list[str] = Field(min_length=1)
    truncate_prompt_tokens: Literal[-1]


class Infinity(Request):
    input: list[str] = Field(min_length=1, max_length=4)
    modality: Literal["image", "text"]


class CohereImages(Request):
    images: list[str] = Field(min_length=1, max_length=4)
    embedding_types: list[Literal["float"]]
    input_type: Literal["image"] | None = None


class CohereTexts(Request):
    texts: list[str] = Field(min_length=1, max_length=4)
    embedding_types: list[Literal["float"]]
    truncate: Literal["END"]
    input_type: Literal["search_query"] | None = None


class Text(Strict):
    type: Literal["text"]
    text: Annotated[str, AfterValidator(_harmless)]


class Url(Strict):
    url: str


class Picture(Strict):
    type: Literal["image_url"]
    image_url: Url


class ChatMessage(Strict):
    role: Literal["system", "user"]
    content: list[Text | Picture] = Field(min_length=1)


class Chat(Request):
    messages: list[ChatMessage] = Field(min_length=1, max_length=1)


class Chats(Request):
    messages: list[list[ChatMessage]] = Field(min_length=1, max_length=16)
    add_generation_prompt: Literal[True]
    add_special_tokens: Literal[True]
    encoding_format: Literal["float"]


class CohereRerank(Request):
    query: str = Field(min_length=1)
    documents: list[str] = Field(min_length=1, max_length=1000)
    top_n: int | None = Field(default=None, ge=1)
    return_documents: bool = True


class Content(Strict):
    content: list[Text | Picture]


class VllmRerank(Request):
    query: Annotated[str, AfterValidator(_harmless)] | Content
    documents: list[Annotated[str, AfterValidator(_harmless)]] = Field(min_length=1)
    instruction: str
    max_tokens_per_query: int
    max_tokens_per_doc: int


class TeiRerank(Strict):
    query: str = Field(min_length=1)
    texts: list[str] = Field(min_length=1, max_length=4)
    raw_scores: bool = False
    return_text: bool = False
    truncate: bool = False


Fault = Callable[[Any], Any]


@dataclass
class ModelServer:
    """Serve embeddings and reranking, and record the requests.

    `score` turns a relevance in 0..1 into the score that is sent. `spoil` changes the vectors or results;
    `fault` changes the whole reply or returns a `Response`. `bodies` holds the requests, `pictures` the
    number of images in each chat input, `sides` their longest sides in pixels.
    """

    bodies: list[Any] = field(default_factory=list)
    pictures: list[int] = field(default_factory=list)
    sides: set[int] = field(default_factory=set)
    instructions: set[str] = field(default_factory=set)
    score: Callable[[float], float] = lambda relevance: relevance
    spoil: Fault = lambda entries: entries
    fault: Fault = lambda reply: reply

    def app(self) -> FastAPI:
        app = FastAPI(dependencies=[Depends(_authorized)])
        routes: dict[str, Callable[..., Any]] = {
            "/embeddings": self._infinity,
            "/v1/embeddings": self._vllm,
            OTHER_PATH: self._vllm,
            "/v2/embed": self._cohere,
            "/v1/rerank": self._rerank,
            "/rerank": self._tei,
        }
        for path, route in routes.items():
            app.add_api_route(path, route, methods=["POST"], response_model=None)
        return app

    async def _infinity(self, body: Infinity) -> Response:
        parts = [_decoded(each) for each in body.input] if body.modality == "image" else body.input
        return self._list(body, [vector(part) for part in parts])

    async def _vllm(self, body: Texts | CutTexts | Chat | Chats) -> Response:
        if isinstance(body, Chat):
            return self._list(body, [vector(*self._read(body.messages[0].content))])
        if isinstance(body, Chats):
            return self._list(body, [self._chat(chat) for chat in body.messages])
        return self._list(body, [vector(text) for text in body.input])

    async def _cohere(self, body: CohereImages | CohereTexts) -> Response:
        parts = [_decoded(each) for each in body.images] if isinstance(body, CohereImages) else body.texts
        vectors = self.spoil([vector(part) for part in parts])
        return self._reply(body, {"id": "e-1", "embeddings": {"float": vectors}, "texts": []})

    async def _rerank(self, body: CohereRerank | VllmRerank) -> Response:
        if isinstance(body, VllmRerank):
            self.instructions.add(body.instruction)
            query = self._read(body.query.content) if isinstance(body.query, Content) else [body.query]
            results = self._results(query, body.documents, "relevance_score")
        else:
            results = self._results([body.query], body.documents, "relevance_score")[: body.top_n]
        return self._reply(body, {"id": "r-1", "model": MODEL, "results": self.spoil(results)})

    async def _tei(self, body: TeiRerank) -> Response:
        return self._reply(body, self.spoil(self._results([body.query], body.texts, "score")))

    def _results(self, query: Sequence[str | RGB], texts: Sequence[str], key: str) -> list[dict[str, Any]]:
        scores = [self.score(relevance(query, text)) for text in texts]
        results = [{"index": place, key: score} for place, score in enumerate(scores)]
        return sorted(results, key=lambda result: -result[key])

    def _chat(self, chat: Sequence[ChatMessage]) -> list[float]:
        *system, user = chat
        for message in system:
            self.instructions.update(part.text for part in message.content if isinstance(part, Text))
        return vector(*self._read(user.content))

    def _read(self, parts: Sequence[Text | Picture]) -> list[str | RGB]:
        pictures = [_decoded(part.image_url.url) for part in parts if isinstance(part, Picture)]
        texts = [part.text for part in parts if isinstance(part, Text)]
        assert [type(part) for part in parts] == [Picture] * len(pictures) + [Text] * len(texts)
        self.pictures.append(len(pictures))
        self.sides.update(max(picture.shape) for picture in pictures)
        return [*pictures, *texts]

    def _list(self, body: Request, vectors: list[list[float]]) -> Response:
        """Return the vectors in reverse order, as Infinity may do."""
        data = [
            {"object": "embedding", "index": index, "embedding": each}
            for index, each in enumerate(self.spoil(vectors))
        ]
        return self._reply(body, {"object": "list", "data": data[::-1], "model": MODEL})

    def _reply(self, body: BaseModel, reply: Any) -> Response:
        self.bodies.append(body)
        data = self.fault(reply)
        return (
            data if isinstance(data, Response) else Response(json.dumps(data), media_type="application/json")
        )


async def _authorized(authorization: str = Header("")) -> None:
    if authorization != f"Bearer {KEY}":
        raise HTTPException(401)


def _decoded(uri: str) -> RGB:
    assert uri.startswith(_JPEG), "only data: URIs of JPEGs are read"
    with Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(_JPEG), validate=True))) as picture:
        return np.asarray(picture)


def vector(*parts: str | RGB) -> list[float]:
    """Return the embedding of the pictures and texts together: [SIZE], not normalised."""
    total = np.zeros(SIZE)
    for part in parts:
        words = re.findall(r"\w+", part.lower()) or [""] if isinstance(part, str) else []
        total += sum(map(_of_word, words), np.zeros(SIZE)) if isinstance(part, str) else 3 * colours(part)
    return [float(value) for value in total.astype(np.float32)]


def _of_word(word: str) -> Any:
    if word in PAINTS:
        return 3 * colours(painted(word))
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little")
    return 0.1 * np.random.default_rng(seed).normal(size=SIZE)


def relevance(query: Sequence[str | RGB], text: str) -> float:
    """Return the relevance of a text to a query, in 0..1: the cosine similarity, rescaled."""
    one, other = np.array(vector(*query)), np.array(vector(text))
    return float(1 + one @ other / np.linalg.norm(one) / np.linalg.norm(other)) / 2
