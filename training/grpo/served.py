"""Write rollouts by a vLLM server in its own environment, which loads the LoRA anew after each step.

TRL's `use_vllm` needs vLLM in the trainer's environment, whose transformers vLLM does not allow, and sends
whole weights between cards. Here one server on the trainer's machine has the frozen base and the adapter
(docs/training.md says how it is started). Photos are processed there (`render`), and sequences go as tokens,
so that the trainer learns exactly the tokens that were written.
"""

import base64
import io
import math
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
from PIL import Image

from training.chat import Chats
from training.grpo.rollout import ServicesDown
from training.grpo.writing import Ask, Continuation, cut_at_end
from training.trainers import on_main

_OURS = "rollouts-"


class WritingServer:
    """A vLLM server. `folder`: where it reads the adapter. All but `close` raise `ServicesDown`."""

    def __init__(self, url: str, folder: Path, at_once: int, patience_s: float) -> None:
        self._http = httpx.Client(base_url=url.rstrip("/").removesuffix("/v1"), timeout=patience_s)
        self._folder = folder
        self._threads = ThreadPoolExecutor(at_once)
        self._step, self._adapter = -1, ""

    def update(self, trainer: Any) -> None:
        """Load the LoRA of the trainer's step, under a new name: the server's caches go by the name."""
        if trainer.state.global_step == self._step:
            return
        if on_main():
            trainer.accelerator.unwrap_model(trainer.model_wrapped).save_pretrained(str(self._folder))
            name, before = f"{_OURS}{uuid.uuid4().hex[:12]}", self._names(_OURS)
            lora = {"lora_name": name, "lora_path": str(self._folder.absolute())}
            self._ask("/v1/load_lora_adapter", lora)
            for other in before:
                self._ask("/v1/unload_lora_adapter", {"lora_name": other})
        trainer.accelerator.wait_for_everyone()
        self._step, (self._adapter,) = trainer.state.global_step, self._names(_OURS)

    def write(
        self, asks: Sequence[Ask], chats: Chats, temperature: float, top_p: float
    ) -> list[Continuation]:
        """See `Writer`."""
        base, photos = self._names("")[0], {_key(ask): ask.photo for ask in asks}
        features = dict(zip(photos, self._threads.map(self._features, photos.values()), strict=True))

        def write(ask: Ask) -> Continuation:
            likeliest = ask.frozen or not temperature
            sampling = {"temperature": 0.0} if likeliest else {"temperature": temperature, "top_p": top_p}
            request = {
                "model": base if ask.frozen else self._adapter,
                "token_ids": list(ask.ids),
                "features": _placed(features[_key(ask)], ask, chats),
                "sampling_params": {
                    **sampling,
                    "max_tokens": ask.most_tokens,
                    "logit_bias": {str(token): -100.0 for token in chats.unwritable},
                    "logprobs": 0,
                },
            }
            (choice,) = self._ask("/inference/v1/generate", request)["choices"]
            ids = cut_at_end(choice["token_ids"], ask, chats.tokenizer)
            if not likeliest:
                return Continuation(ids)
            logprobs = choice["logprobs"]["content"][: len(ids)]
            return Continuation(ids, [min(1.0, math.exp(each["logprob"])) for each in logprobs])

        return list(self._threads.map(write, asks))

    def close(self) -> None:
        self._threads.shutdown()
        self._http.close()

    def _names(self, prefix: str) -> list[str]:
        """Return the server's models whose names start with `prefix`, the base first."""
        names = [str(each["id"]) for each in self._ask("/v1/models")["data"]]
        return [name for name in names if name.startswith(prefix)]

    def _features(self, photo: Image.Image | None) -> dict[str, Any] | None:
        """Return the photo as the server's processor encodes it."""
        if photo is None:
            return None
        buffer = io.BytesIO()
        photo.save(buffer, "PNG")
        url = f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
        message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
        request = {"messages": [message], "max_tokens": 1}
        features: dict[str, Any] = self._ask("/v1/chat/completions/render", request)["features"]
        return features

    def _ask(self, path: str, body: Any = None) -> Any:
        try:
            reply = self._http.request("POST" if body else "GET", path, json=body)
        except httpx.HTTPError as error:
            raise ServicesDown(
                f"vLLM at {self._http.base_url} does not answer {path}: {error}. Is it started?"
            ) from error
        if not reply.is_success:
            raise ServicesDown(f"vLLM at {self._http.base_url} refuses {path}: {reply.text[:500]}")
        return reply.json() if "json" in reply.headers.get("content-type", "") else None


def _key(ask: Ask) -> bytes:
    """Return a key that is equal for equal photos: each rollout of a group reads the photo again."""
    return b"" if ask.photo is None else ask.photo.tobytes()


def _placed(features: dict[str, Any] | None, ask: Ask, chats: Chats) -> dict[str, Any] | None:
    """Return the features at the photo's tokens of this sequence. Raises `ServicesDown` if these are more."""
    if features is None:
        return None
    runs, offset = list[dict[str, int]](), 0
    for is_photo, tokens in groupby(ask.ids, chats.processor.image_token_id.__eq__):
        length = sum(1 for _ in tokens)
        runs += [{"offset": offset, "length": length}] if is_photo else []
        offset += length
    placeholders = features["mm_placeholders"]["image"]
    here, there = ([each["length"] for each in places] for places in (runs, placeholders))
    if here != there:
        raise ServicesDown(
            f"vLLM makes {there} tokens of a photo that has {here} here. Does it serve other weights?"
            " Start it with the preset's weights and max_pixels (docs/training.md)."
        )
    return {**features, "mm_placeholders": {"image": runs}}
