"""A fine-tuned and merged model on a real vLLM gives the answers it was taught.

What a server makes of the merged folder (names of weights, tokenizer, chat template, how a photo is scaled
and where it stands) is held against what the model was trained with. Only the photo tells answers apart.
"""

import base64
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.vlm.__main__ import arguments
from services.vlm.presets import PRESETS, Preset
from tests.training.made import LABELS, SYSTEM, sft_config, three_tasks, trained
from tests.training.tiny_models import tiny_qwen3_vl, tiny_qwen25_vl
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import Serving, serving_preset
from training.models import merge
from training.runs import ADAPTER
from training.samples import ConversationSample, Message, Piece, Task, read_samples, write_samples

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("trl") is None,
    reason="nothing to train with; `make .venv/.training` installs it",
)
EACH, EPOCHS, BY_HEART = 5, 60, 0.05
QWENS = pytest.mark.parametrize(
    ("build", "preset"),
    [(tiny_qwen25_vl, "qwen2.5-vl-7b"), (tiny_qwen3_vl, "qwen3-vl-8b")],
    ids=["qwen2.5-vl", "qwen3-vl"],
)
SEEN = (
    Message(role="system", content=(Piece(type="text", text=SYSTEM),)),
    Message(role="user", content=(Piece(type="image"), Piece(type="text", text="When was it built?"))),
)


@dataclass(frozen=True, slots=True)
class Taught:
    """A merged model, the preset that its folder names, and the samples that it was taught, in `data`."""

    folder: Path
    preset: Preset
    data: Path

    @property
    def samples(self) -> list[ConversationSample]:
        """All of them, of every task."""
        read = [read_samples(self.data, task).samples for task in LABELS]
        return [sample for samples in read for sample in samples]


def lessons(folder: Path) -> Path:
    """A few samples of each task. All answers are to the same words, so that only the photo tells which."""
    three_tasks(folder, EACH)
    answers = read_samples(folder, Task.ANSWER).samples
    write_samples(folder, Task.ANSWER, [each.model_copy(update={"messages": SEEN}) for each in answers])
    return folder


def taught(base: Path, preset: str, folder: Path) -> Taught:
    """The base model, fine-tuned until it knows its samples by heart, and merged for that preset."""
    data = lessons(folder / "data")
    config = sft_config(data, base, epochs=EPOCHS)
    run = trained(config, folder / "run")
    losses = [line["loss"] for line in run.metrics() if "loss" in line]
    assert losses[-1] < BY_HEART < losses[0]
    merged = folder / f"trained-{preset}"
    merge(config.model, run.path / ADAPTER, merged, preset, {})
    named: str = arguments(["--model", str(merged)]).preset
    assert named == preset
    lesson = Taught(merged, PRESETS[named], data)
    assert len(lesson.samples) == EACH * len(LABELS)
    return lesson


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


def replies(server: Serving, lesson: Taught) -> dict[str, str]:
    """The likeliest reply to each sample, by its id."""
    replies = {}
    with httpx.Client(base_url=server.url, timeout=120) as http:
        for sample in lesson.samples:
            messages = chat(sample, lesson.data)
            body = {"model": server.model, "messages": messages, "max_tokens": 64, "temperature": 0}
            reply = http.post("/v1/chat/completions", json=body).raise_for_status().json()
            replies[sample.id] = reply["choices"][0]["message"]["content"]
    return replies


@QWENS
def test_a_trained_qwen_says_what_it_was_taught(
    environment: VllmEnvironment, tmp_path: Path, build: Callable[[Path], Path], preset: str
) -> None:
    lesson = taught(build(tmp_path / "base"), preset, tmp_path)
    with serving_preset(environment, lesson.preset, lesson.folder) as server:
        assert replies(server, lesson) == {sample.id: sample.label for sample in lesson.samples}
