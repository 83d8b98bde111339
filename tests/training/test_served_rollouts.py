"""A server in an environment of its own writes rollouts, with the LoRA of the step."""

import base64
import hashlib
import io
import math
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from fastapi.responses import JSONResponse, PlainTextResponse
from PIL import Image

from tests import live
from tests.models.tiny_domain import begun
from tests.training.asking import base_saying, finding_nothing, grpo_config, questions, served
from training.chat import Chats, Turn
from training.config import LoraSettings, ModelSettings
from training.grpo.rollout import ServicesDown
from training.grpo.served import WritingServer
from training.grpo.tuning import tune
from training.grpo.writing import Ask, OwnWriter
from training.models import load, with_lora
from training.samples import Message, Piece

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
    fake = FakeVllm(weights, shrinks)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(live.served(fake.app())) as url:
        yield fake, url


TOKENS = 24


def at_step(weights: Path, step: int) -> tuple[Any, Chats]:
    """A trainer whose LoRA does something, as one after so many steps, and its chats."""
    import torch
    from accelerate import Accelerator

    loaded = load(ModelSettings(weights=str(weights), dtype="float32", gradient_checkpointing=False))
    loaded.tokenizer.padding_side = "left"
    model = with_lora(loaded, LoraSettings(rank=8, dropout=0.0), 0)
    torch.manual_seed(step)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    state = SimpleNamespace(global_step=step)
    return SimpleNamespace(state=state, accelerator=Accelerator(cpu=True), model_wrapped=model), Chats(
        loaded.processor
    )


def asks(chats: Chats, folder: Path) -> list[Ask]:
    """With and without a photo, each of the trained model and of the frozen base."""
    result = []
    for photo in (questions(folder, 1)[0].photo, None):
        text = Piece(type="text", text="When was it built?")
        pieces = (text,) if photo is None else (Piece(type="image"), text)
        turn = Turn((Message(role="user", content=pieces),), photo)
        ids = tuple(chats.inputs([turn])["input_ids"][0].tolist())
        seen = None if photo is None else chats.photo(photo)
        result += [Ask(ids, seen, TOKENS, frozen=frozen) for frozen in (False, True)]
    return result


def check_writes_as_the_model_itself(url: str, weights: Path, folder: Path, within: float = 1e-3) -> None:
    """The likeliest tokens of the server are those of the trainer's own model, at two steps.

    Base and adapter write one after the other: on a CPU, vLLM 0.32 gives the base's part of a mixed batch the
    last adapter (its kernels for a CPU index by -1, those for cards skip it). `within`: of probabilities.
    """
    written: dict[tuple[int, bool], list[list[int]]] = {}
    with closing(WritingServer(url, folder / "adapter", 4, 120)) as server:
        for step in (1, 2):
            trainer, chats = at_step(weights, step)
            server.update(trainer)
            for frozen in (False, True):
                part = [ask for ask in asks(chats, folder / "data") if ask.frozen is frozen]
                there = server.write(part, chats, 0.0, 1.0)
                here = OwnWriter(trainer, chats, 0.0, 1.0, 4)(part)
                written[step, frozen] = [each.ids for each in there]
                assert written[step, frozen] == [each.ids for each in here]
                for one, other in zip(there, here, strict=True):
                    assert one.probabilities == pytest.approx(other.probabilities, abs=within)
    assert written[1, True] == written[2, True]
    assert written[1, False] not in (written[1, True], written[2, False])


def test_server_output_equals_the_model(weights: Path, tmp_path: Path) -> None:
    with fake_vllm(weights) as (fake, url):
        check_writes_as_the_model_itself(url, weights, tmp_path)
    assert len(set(fake.loads)) == 2


def test_sampled_tokens_have_no_probabilities(weights: Path, tmp_path: Path) -> None:
    trainer, chats = at_step(weights, 1)
    with (
        fake_vllm(weights) as (_, url),
        closing(WritingServer(f"{url}/v1", tmp_path / "adapter", 4, 60)) as server,
    ):
        server.update(trainer)
        own, base = server.write(asks(chats, tmp_path / "data")[:2], chats, 0.7, 0.9)
    assert own.probabilities is None
    assert base.probabilities is not None


def test_training_gives_the_server_each_steps_adapter(weights: Path, tmp_path: Path) -> None:
    questions(tmp_path / "data", 2, held_out=1)
    with served(finding_nothing()) as settings, base_saying("312") as base, fake_vllm(weights) as (fake, url):
        few = dict.fromkeys(("group", "batch_size", "device_batch_size", "most_steps"), 2)
        config = grpo_config(tmp_path / "data", weights, base=base, vllm_url=url, **few)
        run = begun(tmp_path / "run", config)
        tune(config, run, settings)
        assert len(fake.loads) == 3  # before each of two steps, and after
    assert len(set(fake.loads)) == 3
    assert [rollout.step for rollout in run.rollouts()] == [0, 0, 1, 1]


@pytest.mark.parametrize("fault", ["no server", "no such route", "other weights"])
def test_server_that_cannot_write_is_named(weights: Path, tmp_path: Path, fault: str) -> None:
    trainer, chats = at_step(weights, 1)
    with fake_vllm(weights, shrinks=1) as (_, url):
        place = {"no server": "http://127.0.0.1:9", "no such route": f"{url}/elsewhere"}.get(fault, url)
        server = WritingServer(place, tmp_path / "adapter", 1, 60)

        def write() -> None:
            server.update(trainer)
            server.write(asks(chats, tmp_path / "data"), chats, 0.0, 1.0)

        named = "other weights" if fault == "other weights" else place
        with closing(server), pytest.raises(ServicesDown, match=named):
            write()
