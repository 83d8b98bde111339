"""Tiny models of each architecture: what carries loss, what is learnt by heart, and what a merge keeps."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.training.made import conversation, sft_config, three_tasks, trained
from tests.training.tiny_models import tiny_mllama, tiny_qwen3_vl, tiny_qwen25_vl
from training.chat import NO_LOSS, Chats, Turn
from training.models import load, merge, tensors
from training.runs import ADAPTER
from training.samples import Message, Piece, Task
from training.sft.finetuning import predictions
from training.sft.mixture import read_mixture

MODELS = {"mllama": tiny_mllama, "qwen2.5-vl": tiny_qwen25_vl, "qwen3-vl": tiny_qwen3_vl}
EVERY_MODEL = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
Build = Callable[[Path], Path]


@EVERY_MODEL
def test_only_the_tokens_that_the_assistant_is_to_write_carry_loss(build: Build, tmp_path: Path) -> None:
    loaded = load(sft_config(tmp_path, build(tmp_path / "model")).model)
    chats = Chats(loaded.processor)
    earlier = (
        Message(role="user", content=(Piece(type="image"), Piece(type="text", text="What is it?"))),
        Message(role="assistant", content=(Piece(type="text", text="It is a book."),)),
        Message(role="user", content=(Piece(type="text", text="Who built the tower?"),)),
    )
    samples = [
        conversation(tmp_path, 1, Task.ANSWER, "Ada built it in 1955."),
        conversation(tmp_path, 2, Task.ANSWER, "I don't know.", messages=earlier),
    ]
    turns = [Turn(each.messages, tmp_path / each.photo, each.label) for each in samples]
    batch = chats.training_inputs(turns)
    for ids, labels, sample in zip(batch["input_ids"], batch["labels"], samples, strict=True):
        learnt = labels != NO_LOSS
        assert bool((labels[learnt] == ids[learnt]).all())
        end = chats.tokenizer.eos_token
        assert chats.tokenizer.decode(ids[learnt]) == sample.label + end
        before = chats.tokenizer.decode(ids[: int(learnt.nonzero()[0])])
        assert before.count("It is a book.") == (sample is samples[1])
        assert int(learnt.nonzero()[-1]) - int(learnt.nonzero()[0]) + 1 == int(learnt.sum())


@EVERY_MODEL
def test_what_is_trained_on_is_what_a_server_would_be_asked(build: Build, tmp_path: Path) -> None:
    loaded = load(sft_config(tmp_path, build(tmp_path / "model")).model)
    chats, sample = Chats(loaded.processor), conversation(tmp_path, 1, Task.ANSWER, "Ada.")
    turn = Turn(sample.messages, tmp_path / sample.photo, sample.label)
    asked, learnt = chats.inputs([turn])["input_ids"][0], chats.training_inputs([turn])
    begins = int((learnt["labels"][0] != NO_LOSS).nonzero()[0])
    assert learnt["input_ids"][0, :begins].equal(asked)
    prompt, reply = chats.length(turn)
    assert (prompt, prompt + reply) == (len(asked), int(learnt["input_ids"].shape[1]))


@EVERY_MODEL
def test_eight_samples_of_each_task_are_learnt_by_heart_and_said(build: Build, tmp_path: Path) -> None:
    data = three_tasks(tmp_path / "data", 8)
    config = sft_config(data, build(tmp_path / "model"), epochs=28)
    run = trained(config, tmp_path / "run")
    losses = [line["loss"] for line in run.metrics() if "loss" in line]
    assert losses[-1] < 0.1 < 3 < losses[0]

    from peft import PeftModel

    loaded = load(config.model)
    chats = Chats(loaded.processor)
    learnt = read_mixture(config, chats).train
    model = PeftModel.from_pretrained(loaded.model, str(run.path / ADAPTER))
    said = predictions(model, chats, learnt, 40, 8)
    assert [each.said for each in said] == [each.label for each in said]
    assert len(said) == 24


@EVERY_MODEL
def test_a_lora_saved_loaded_and_merged_gives_the_same_logits(build: Build, tmp_path: Path) -> None:
    config = sft_config(three_tasks(tmp_path / "data", 2), build(tmp_path / "model"), epochs=3)
    run = trained(config, tmp_path / "run")
    merge(config.model, run.path / ADAPTER, tmp_path / "merged", "qwen3-vl-8b", {})

    from peft import PeftModel

    loaded = load(config.model)
    chats = Chats(loaded.processor)
    inputs = chats.inputs([read_mixture(config, chats).train[0].turn])
    with torch.inference_mode():
        base = loaded.model(**inputs).logits
        adapted = PeftModel.from_pretrained(loaded.model, str(run.path / ADAPTER)).eval()(**inputs).logits
        merged = load(sft_config(tmp_path, tmp_path / "merged").model).model.eval()(**inputs).logits
    assert float((base - adapted).abs().max()) > 0.1
    torch.testing.assert_close(merged, adapted, rtol=0, atol=1e-4)
    assert tensors(tmp_path / "merged") == tensors(tmp_path / "model")
    for name in ("config.json", "tokenizer.json", "chat_template.jinja", "processor_config.json"):
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()
