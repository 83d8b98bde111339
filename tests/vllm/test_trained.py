"""A fine-tuned and merged model on a real vLLM gives the answers it was taught.

What a server makes of the merged folder (names of weights, tokenizer, chat template, how a photo is scaled
and where it stands) is held against what the model was trained with. Only the photo tells answers apart.
"""

import base64
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.vlm.__main__ import arguments
from services.vlm.presets import PRESETS
from tests.training.made import LABELS, SYSTEM, sft_config, three_tasks, trained
from tests.training.tiny_models import tiny_qwen3_vl, tiny_qwen25_vl
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import serving_preset
from training.models import merge
from training.runs import ADAPTER
from training.samples import ConversationSample, Message, Piece, Task, read_samples, write_samples

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("trl") is None,
    reason="nothing to train with; `make .venv/.training` installs it",
)
EACH, EPOCHS, BY_HEART = 5, 60, 0.05
SEEN = (
    Message(role="system", content=(Piece(type="text", text=SYSTEM),)),
    Message(role="user", content=(Piece(type="image"), Piece(type="text", text="When was it built?"))),
)


def taught(base: Path, preset: str, folder: Path) -> tuple[Path, list[ConversationSample]]:
    """Train the base model until it has memorised the samples; return the merged model and the samples.

    All prompts have the same text, so that only the photo determines the answer.
    """
    data = folder / "data"
    three_tasks(data, EACH)
    answers = read_samples(data, Task.ANSWER).samples
    write_samples(data, Task.ANSWER, [each.model_copy(update={"messages": SEEN}) for each in answers])
    config = sft_config(data, base, epochs=EPOCHS)
    run = trained(config, folder / "run")
    losses = [line["loss"] for line in run.metrics() if "loss" in line]
    assert losses[-1] < BY_HEART < losses[0]
    merged = folder / f"trained-{preset}"
    merge(config.model, run.path / ADAPTER, merged, preset, {})
    samples = [sample for task in LABELS for sample in read_samples(data, task).samples]
    assert len(samples) == EACH * len(LABELS)
    return merged, samples


def chat(sample: ConversationSample, data: Path) -> list[dict[str, Any]]:
    """Its messages as the API takes them, with its photo in them."""
    photo = base64.b64encode((data / str(sample.photo)).read_bytes()).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{photo}"}}
    return [
        {
            "role": message.role,
            "content": [
                image if piece.type == "image" else {"type": "text", "text": piece.text}
                for piece in message.content
            ],
        }
        for message in sample.messages
    ]


@pytest.mark.parametrize(
    ("build", "preset"),
    [(tiny_qwen25_vl, "qwen2.5-vl-7b"), (tiny_qwen3_vl, "qwen3-vl-8b")],
    ids=["qwen2.5-vl", "qwen3-vl"],
)
def test_trained_qwen_gives_the_learnt_reply(
    environment: VllmEnvironment, tmp_path: Path, build: Callable[[Path], Path], preset: str
) -> None:
    merged, samples = taught(build(tmp_path / "base"), preset, tmp_path)
    named: str = arguments(["--model", str(merged)]).preset
    assert named == preset
    replies = []
    with (
        serving_preset(environment, PRESETS[named], merged) as server,
        httpx.Client(base_url=server.url, timeout=120) as http,
    ):
        for sample in samples:
            messages = chat(sample, tmp_path / "data")
            body = {"model": server.model, "messages": messages, "max_tokens": 64, "temperature": 0}
            reply = http.post("/v1/chat/completions", json=body).raise_for_status().json()
            replies.append(reply["choices"][0]["message"]["content"])
    assert replies == [sample.label for sample in samples]
