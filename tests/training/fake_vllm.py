"""The part of vLLM's API that rollouts use, over transformers' own model.

`tests/vllm/test_rollouts.py` sends the same requests to a real vLLM, which checks their form.
"""

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

from tests.live import served
from training.chat import Chats
from training.config import LoraSettings, ModelSettings
from training.grpo.writing import Ask, OwnWriter
from training.models import load, with_lora

Body = dict[str, Any]


class FakeVllm:
    """`loads`: names of adapters in their order; `shrinks`: a photo's tokens by so many, as others' might."""

    def __init__(self, weights: Path, shrinks: int = 0) -> None:
        self.base, self.loads, self._shrinks = weights.name, list[str](), shrinks
        loaded = load(ModelSettings(weights=str(weights), dtype="float32", gradient_checkpointing=False))
        loaded.tokenizer.padding_side = "left"
        self._chats = Chats(loaded.processor)
        self._model = with_lora(loaded, LoraSettings(rank=1), 0)
        self._adapters: list[str] = []
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

    def _models(self) -> Body:
        adapters = [{"id": name, "object": "model", "parent": self.base} for name in self._adapters]
        return {"object": "list", "data": [{"id": self.base, "object": "model", "parent": None}, *adapters]}

    def _load(self, body: Body) -> PlainTextResponse:
        name, path = body["lora_name"], body["lora_path"]
        if name in self._adapters or not Path(path).is_absolute():
            return PlainTextResponse("The lora adapter has already been loaded.", 400)
        with self._lock:
            self._model.load_adapter(path, name)
        self._adapters.append(name)
        self.loads.append(name)
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    def _unload(self, body: Body) -> PlainTextResponse:
        self._adapters.remove(body["lora_name"])
        return PlainTextResponse("Success: LoRA adapter removed successfully.")

    def _render(self, body: Body) -> Body:
        ((part,),) = (message["content"] for message in body["messages"])
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

    def _generate(self, body: Body) -> JSONResponse:
        if body["model"] not in (self.base, *self._adapters):
            return JSONResponse({"error": {"message": f"The model `{body['model']}` does not exist."}}, 404)
        ids, features, sampling, photo = body["token_ids"], body["features"], body["sampling_params"], None
        if features is not None:
            ((place,), (data,)) = features["mm_placeholders"]["image"], features["kwargs_data"]["image"]
            stretch = range(place["offset"], place["offset"] + place["length"])
            if {n for n, token in enumerate(ids) if token == self._chats.processor.image_token_id} != set(
                stretch
            ):
                return JSONResponse({"error": {"message": "The placeholders are not at the photo."}}, 400)
            photo = _image(data)
        own = body["model"] != self.base
        with self._lock:
            if own:
                self._model.set_adapter(body["model"])
            unwrapped = SimpleNamespace(unwrap_model=lambda model: model)
            trainer = SimpleNamespace(accelerator=unwrapped, model_wrapped=self._model)
            writer = OwnWriter(trainer, self._chats, sampling["temperature"], sampling.get("top_p", 1.0), 1)
            (continuation,) = writer([Ask(tuple(ids), photo, sampling["max_tokens"], frozen=not own)])
        probabilities = continuation.probabilities or [1.0] * len(continuation.ids)
        content = [{"token": "", "logprob": math.log(each)} for each in probabilities]
        choice = {"index": 0, "token_ids": continuation.ids, "logprobs": {"content": content}}
        return JSONResponse({"choices": [choice]})


def _image(data: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


@contextmanager
def fake_vllm(weights: Path, shrinks: int = 0) -> Iterator[tuple[FakeVllm, str]]:
    """It and its URL."""
    fake = FakeVllm(weights, shrinks)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(served(fake.app())) as url:
        yield fake, url
