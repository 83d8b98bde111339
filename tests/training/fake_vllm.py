"""The part of vLLM's API that rollouts use, as strict as vLLM, over transformers' own model."""

import base64
import hashlib
import io
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from PIL import Image
from pydantic import BaseModel, ConfigDict

from tests.live import served
from training.chat import Chats
from training.config import LoraSettings, ModelSettings
from training.grpo.writing import Ask, OwnWriter
from training.models import load, with_lora


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Place(_Strict):
    offset: int
    length: int


class _Features(_Strict):
    mm_hashes: dict[str, list[str]]
    mm_placeholders: dict[str, list[_Place]]
    kwargs_data: dict[str, list[str | None]]


class _Sampling(_Strict):
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 16
    logprobs: int | None = None
    logit_bias: dict[str, float] | None = None


class _Generate(_Strict):
    model: str
    token_ids: list[int]
    features: _Features | None = None
    sampling_params: _Sampling


class _Chat(_Strict):
    messages: list[dict[str, Any]]
    max_tokens: int


class _Load(_Strict):
    lora_name: str
    lora_path: str


class _Unload(_Strict):
    lora_name: str


class FakeVllm:
    """`loads`: names of adapters in their order; `shrinks`: a photo's tokens by so many, as others' might."""

    def __init__(self, weights: Path, shrinks: int = 0) -> None:
        self.base, self.loads, self._shrinks = weights.name, list[str](), shrinks
        loaded = load(ModelSettings(weights=str(weights), dtype="float32", gradient_checkpointing=False))
        loaded.tokenizer.padding_side = "left"
        self._chats = Chats(loaded.processor)
        self._model = with_lora(loaded, LoraSettings(rank=1), 0)
        self._there: list[str] = []
        self._lock = threading.Lock()

    def app(self) -> FastAPI:
        """Its routes."""
        app = FastAPI()
        app.get("/v1/models")(self._models)
        app.post("/v1/load_lora_adapter")(self._load)
        app.post("/v1/unload_lora_adapter")(self._unload)
        app.post("/v1/chat/completions/render")(self._render)
        app.post("/inference/v1/generate")(self._generate)
        return app

    def _models(self) -> dict[str, Any]:
        adapters = [{"id": name, "object": "model", "parent": self.base} for name in self._there]
        return {"object": "list", "data": [{"id": self.base, "object": "model", "parent": None}, *adapters]}

    def _load(self, body: _Load) -> PlainTextResponse:
        if body.lora_name in self._there or not Path(body.lora_path).is_absolute():
            return PlainTextResponse("The lora adapter has already been loaded.", 400)
        with self._lock:
            self._model.load_adapter(body.lora_path, body.lora_name)
        self._there.append(body.lora_name)
        self.loads.append(body.lora_name)
        return PlainTextResponse(f"Success: LoRA adapter '{body.lora_name}' added successfully.")

    def _unload(self, body: _Unload) -> PlainTextResponse:
        if body.lora_name not in self._there:
            return PlainTextResponse("The lora adapter cannot be found.", 404)
        self._there.remove(body.lora_name)
        return PlainTextResponse(f"Success: LoRA adapter '{body.lora_name}' removed successfully.")

    def _render(self, body: _Chat) -> dict[str, Any]:
        ((part,),) = (message["content"] for message in body.messages)
        _, _, data = part["image_url"]["url"].partition("base64,")
        text = self._chats.processor.apply_chat_template([{"role": "user", "content": [{"type": "image"}]}])
        ids = self._chats.processor(text=[text], images=[[_image(data)]])["input_ids"][0]
        places = [place for place, token in enumerate(ids) if token == self._chats.processor.image_token_id]
        features = {
            "mm_hashes": {"image": [hashlib.sha256(data.encode()).hexdigest()]},
            "mm_placeholders": {"image": [{"offset": places[0], "length": len(places) - self._shrinks}]},
            "kwargs_data": {"image": [data]},
        }
        return {"token_ids": list(ids), "features": features}

    def _generate(self, body: _Generate) -> JSONResponse:
        if body.model not in (self.base, *self._there):
            return JSONResponse({"error": {"message": f"The model `{body.model}` does not exist."}}, 404)
        photo, sampling = None, body.sampling_params
        if body.features is not None:
            ((place,), (data,)) = body.features.mm_placeholders["image"], body.features.kwargs_data["image"]
            image = self._chats.processor.image_token_id
            stretch = range(place.offset, place.offset + place.length)
            if {n for n, token in enumerate(body.token_ids) if token == image} != set(stretch):
                return JSONResponse({"error": {"message": "The placeholders are not at the photo."}}, 400)
            photo = _image(str(data))
        own = body.model != self.base
        with self._lock:
            if own:
                self._model.set_adapter(body.model)
            unwrapped = SimpleNamespace(unwrap_model=lambda model: model)
            trainer = SimpleNamespace(accelerator=unwrapped, model_wrapped=self._model)
            writer = OwnWriter(trainer, self._chats, sampling.temperature, sampling.top_p, 1)
            (continuation,) = writer([Ask(tuple(body.token_ids), photo, sampling.max_tokens, frozen=not own)])
        probabilities = continuation.probabilities or [1.0] * len(continuation.ids)
        content = [{"token": "", "logprob": math.log(each)} for each in probabilities]
        choice = {
            "index": 0,
            "token_ids": continuation.ids,
            "logprobs": {"content": content},
            "finish_reason": "stop",
        }
        return JSONResponse({"choices": [choice]})


def _image(data: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


@contextmanager
def fake_vllm(weights: Path, shrinks: int = 0) -> Iterator[tuple[FakeVllm, str]]:
    """It and its URL."""
    fake = FakeVllm(weights, shrinks)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(served(fake.app())) as url:
        yield fake, url
