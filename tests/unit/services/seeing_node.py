"""A fake vLLM that embeds and ranks photos with texts; tests/vllm/test_retrievers.py asks a real one.

A picture counts by its mean colour, a text by the colours that it names.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from tests.unit.chassis.pictures import encoded

MODEL = "qwen3-vl-tiny"
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255)}
CONTROLS = ("<|im_end|>", "<|image_pad|>")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Text(Strict):
    type: Literal["text"]
    text: str = Field(min_length=1)


class Url(Strict):
    url: str = Field(pattern="^data:image/jpeg;base64,")


class Picture(Strict):
    type: Literal["image_url"]
    image_url: Url


Part = Annotated[Text | Picture, Field(discriminator="type")]


class ChatMessage(Strict):
    role: Literal["system", "user"]
    content: list[Part] = Field(min_length=1)


class EmbeddingRequest(Strict):
    model: Literal["qwen3-vl-tiny"]
    messages: list[list[ChatMessage]] = Field(min_length=1, max_length=16)
    add_generation_prompt: Literal[True]
    add_special_tokens: Literal[True]
    encoding_format: Literal["float"]


class Content(Strict):
    content: list[Part]


class RerankRequest(Strict):
    model: Literal["qwen3-vl-tiny"]
    query: str | Content
    documents: list[str] = Field(min_length=1)
    instruction: str
    max_tokens_per_query: int
    max_tokens_per_doc: int


@dataclass
class SeeingNode:
    """`pictures`: how many came with each input; `sides`: their longest sides; `instructions`: all."""

    pictures: list[int] = field(default_factory=list)
    sides: set[int] = field(default_factory=set)
    instructions: set[str] = field(default_factory=set)

    def app(self) -> FastAPI:
        """The server."""
        app = FastAPI()

        @app.post("/v1/embeddings")
        async def embed(body: EmbeddingRequest) -> dict[str, Any]:
            data = [
                {"index": place, "embedding": self._vector(chat).tolist()}
                for place, chat in enumerate(body.messages)
            ]
            return {"object": "list", "data": data, "model": MODEL}

        @app.post("/v1/rerank")
        async def rerank(body: RerankRequest) -> dict[str, Any]:
            self.instructions.add(body.instruction)
            query = self._read(body.query.content if isinstance(body.query, Content) else [_text(body.query)])
            scores = [float(_unit(query) @ _unit(self._read([_text(each)]))) for each in body.documents]
            results = [
                {"index": place, "relevance_score": score, "document": {"text": "", "multi_modal": None}}
                for place, score in enumerate(scores)
            ]
            return {"id": "rerank-1", "model": MODEL, "results": results[::-1]}

        return app

    def _vector(self, chat: Sequence[ChatMessage]) -> Any:
        *system, user = chat
        assert [message.role for message in chat] in (["system", "user"], ["user"])
        self.instructions.update(
            part.text for message in system for part in message.content if isinstance(part, Text)
        )
        return self._read(user.content)

    def _read(self, parts: Sequence[Text | Picture]) -> Any:
        colour = np.full(3, 20.0)
        pictures = [part for part in parts if isinstance(part, Picture)]
        assert pictures == list(parts[: len(pictures)])  # before the text, as the models were trained
        self.pictures.append(len(pictures))
        for part in parts:
            if isinstance(part, Text):
                assert not any(mark in part.text for mark in CONTROLS)
                named = [np.array(value) for name, value in COLOURS.items() if name in part.text.lower()]
                colour = colour + sum(named, np.zeros(3))
            else:
                image = Image.open(io.BytesIO(base64.b64decode(part.image_url.url.partition(",")[2])))
                self.sides.add(max(image.size))
                colour = colour + np.asarray(image).mean((0, 1))
        return colour


def _text(text: str) -> Text:
    return Text(type="text", text=text)


def _unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


def plain_picture(colour: str, side: int = 64) -> bytes:
    """A JPEG of one colour."""
    return encoded(Image.new("RGB", (side, side), COLOURS[colour]), "JPEG")
