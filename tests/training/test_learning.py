"""What a model learns from its samples, and what it writes."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gateway.llm.completion import align
from tests.training.made import conversation, sft_config, three_tasks, trained
from tests.training.tiny_models import tiny_mllama, tiny_qwen3_vl, tiny_qwen25_vl
from training.chat import NO_LOSS, Chats, Turn
from training.grpo.writing import Ask, Continuation, OwnWriter, Together, cut_at_end
from training.models import load, merge, tensors, with_lora
from training.runs import ADAPTER, RunFolder
from training.samples import Message, Piece, Task
from training.sft import Mixture, SftConfig, predictions, read_mixture

MODELS = {"mllama": tiny_mllama, "qwen2.5-vl": tiny_qwen25_vl, "qwen3-vl": tiny_qwen3_vl}


@dataclass(frozen=True)
class Learnt:
    """A model that has learnt 24 samples by heart: its weights, its run, and what it was taught."""

    weights: Path
    config: SftConfig
    run: RunFolder
    chats: Chats

    def base(self) -> Any:
        return load(self.config.model).model

    def adapted(self) -> Any:
        from peft import PeftModel

        return PeftModel.from_pretrained(self.base(), str(self.run.path / ADAPTER)).eval()

    @property
    def mixture(self) -> Mixture:
        return read_mixture(self.config, self.chats)


@pytest.fixture(scope="module", params=MODELS)
def learnt(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Learnt:
    folder = tmp_path_factory.mktemp("learnt")
    weights = MODELS[request.param](folder / "model")
    config = sft_config(three_tasks(folder / "data", 8), weights, epochs=28)
    return Learnt(weights, config, trained(config, folder / "run"), Chats(load(config.model).processor))


def test_assistant_tokens_alone_carry_loss(learnt: Learnt, tmp_path: Path) -> None:
    chats = learnt.chats
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
        own = labels != NO_LOSS
        assert bool((labels[own] == ids[own]).all())
        assert chats.tokenizer.decode(ids[own]) == sample.label + chats.tokenizer.eos_token
        before = chats.tokenizer.decode(ids[: int(own.nonzero()[0])])
        assert before.count("It is a book.") == (sample is samples[1])
        assert int(own.nonzero()[-1]) - int(own.nonzero()[0]) + 1 == int(own.sum())


def test_training_prompts_equal_serving_prompts(learnt: Learnt, tmp_path: Path) -> None:
    sample = conversation(tmp_path, 1, Task.ANSWER, "Ada.")
    turn = Turn(sample.messages, tmp_path / sample.photo, sample.label)
    prompt_ids, taught = learnt.chats.inputs([turn])["input_ids"][0], learnt.chats.training_inputs([turn])
    begins = int((taught["labels"][0] != NO_LOSS).nonzero()[0])
    assert taught["input_ids"][0, :begins].equal(prompt_ids)
    prompt, reply = learnt.chats.length(turn)
    assert (prompt, prompt + reply) == (len(prompt_ids), int(taught["input_ids"].shape[1]))


def test_eight_samples_of_each_task_are_memorised(learnt: Learnt) -> None:
    losses = [line["loss"] for line in learnt.run.metrics() if "loss" in line]
    assert losses[-1] < 0.1 < 3 < losses[0]
    replies = predictions(learnt.adapted(), learnt.chats, learnt.mixture.train, 40, 8)
    assert [each.said for each in replies] == [each.label for each in replies]
    assert len(replies) == 24


def test_merged_weights_give_the_logits_of_the_adapter(learnt: Learnt, tmp_path: Path) -> None:
    merge(learnt.config.model, learnt.run.path / ADAPTER, tmp_path / "merged", "qwen3-vl-8b", {})
    inputs = learnt.chats.inputs([learnt.mixture.train[0].turn])
    with torch.inference_mode():
        base, adapted = learnt.base()(**inputs).logits, learnt.adapted()(**inputs).logits
        merged = load(sft_config(tmp_path, tmp_path / "merged").model).model.eval()(**inputs).logits
    assert float((base - adapted).abs().max()) > 0.1
    torch.testing.assert_close(merged, adapted, rtol=0, atol=1e-4)
    assert tensors(tmp_path / "merged") == tensors(learnt.weights)
    for name in ("config.json", "tokenizer.json", "chat_template.jinja", "processor_config.json"):
        assert (tmp_path / "merged" / name).read_bytes() == (learnt.weights / name).read_bytes()


PLAN = "<think>Small.</think>\n<tool>\n1. grounding: the book\n</tool>"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> SftConfig:
    """Return a training configuration for a tiny untrained Qwen2.5-VL."""
    folder = tmp_path_factory.mktemp("tiny")
    return sft_config(folder, tiny_qwen25_vl(folder / "model"))


def trainer_of(model: Any) -> Any:
    accelerator = SimpleNamespace(unwrap_model=lambda wrapped: wrapped)
    return SimpleNamespace(accelerator=accelerator, model_wrapped=model)


def test_rollout_ends_at_the_stop_tag(tiny: SftConfig) -> None:
    chats = Chats(load(tiny.model).processor)
    end = chats.tokenizer.eos_token_id
    ask = Ask((), None, 100, "</tool>")
    whole = chats.ids(PLAN)
    assert cut_at_end([*whole, end, *chats.ids("and so on")], ask, chats.tokenizer) == [*whole, end]
    rambling = cut_at_end([*whole, *chats.ids(" and so on")], ask, chats.tokenizer)
    assert chats.tokenizer.decode(rambling).startswith(PLAN)
    assert len(rambling) <= len(whole) + 1
    assert cut_at_end(whole, Ask((), None, 5, "</tool>"), chats.tokenizer) == whole[:5]


def test_rollouts_ignore_the_models_generation_config(tmp_path: Path) -> None:
    weights = tiny_qwen25_vl(tmp_path / "model")
    figures = json.loads((weights / "generation_config.json").read_text())
    figures |= {"do_sample": True, "top_k": 1, "repetition_penalty": 5.0}
    (weights / "generation_config.json").write_text(json.dumps(figures))
    config = sft_config(tmp_path, weights)
    loaded = load(config.model)
    model, chats = with_lora(loaded, config.lora, seed=0).train(), Chats(loaded.processor)
    trainer = trainer_of(model)
    sampling, served = (OwnWriter(trainer, chats, temperature, 1.0, 8) for temperature in (1.5, 0.0))
    ask = Ask(tuple(chats.ids("Which tower is it?")), None, 12)
    assert len({tuple(each.ids) for each in sampling([ask] * 8)}) > 4
    for likeliest in (served([ask] * 8), sampling([replace(ask, frozen=True)] * 8)):
        assert len({tuple(each.ids) for each in likeliest}) == 1
    assert model.training


def test_greedy_tokens_have_probabilities(tiny: SftConfig) -> None:
    loaded = load(tiny.model)
    chats, model = Chats(loaded.processor), with_lora(loaded, tiny.lora, seed=0)
    begin = chats.ids("Which tower is it?")
    longer = Ask((*begin, *begin), None, 12, frozen=True)
    asks = [Ask(tuple(begin), None, 8, frozen=True), longer]
    (continuation, _) = OwnWriter(trainer_of(model), chats, 0.0, 1.0, 8)(asks)
    with torch.no_grad(), model.eval().disable_adapter():
        logits = model(input_ids=torch.tensor([begin + continuation.ids])).logits[0, len(begin) - 1 : -1]
    logits[:, chats.unwritable] = -torch.inf
    assert continuation.ids == logits.argmax(-1).tolist()
    assert continuation.probabilities == pytest.approx(logits.softmax(-1).amax(-1).tolist(), abs=1e-4)


def test_tokens_align_with_text_inside_characters(tiny: SftConfig) -> None:
    chats = Chats(load(tiny.model).processor)
    text = "Sévérac: 312 m — 高塔"
    ids = [*chats.ids(text), chats.tokenizer.eos_token_id]
    assert len(ids) > len(text)  # its letters are no tokens of so small a vocabulary
    for part in (ids, ids[:-2]):
        tokens = Continuation(part, [0.5] * len(part)).tokens(chats.tokenizer)
        output = chats.tokenizer.decode(part, skip_special_tokens=True).encode()
        spans = align(output, [token.data for token in tokens])
        assert spans is not None
        assert b"".join(output[start:end] for start, end in spans) == output


def test_batch_waits_for_present_members_only() -> None:
    batches: list[list[int]] = []

    def answer(requests: Sequence[int]) -> list[int]:
        batches.append(list(requests))
        return [10 * each for each in requests]

    async def member(together: Together[int, int], place: int, asks: int) -> list[int]:
        try:
            return [await together.ask(place, 100 * number + place) for number in range(asks)]
        finally:
            together.leave()

    async def all_of_them() -> list[list[int]]:
        together = Together(answer, 3)
        return await asyncio.gather(*(member(together, place, 3 - place) for place in (2, 1, 0)))

    replies = asyncio.run(all_of_them())
    assert batches == [[0, 1, 2], [100, 101], [200]]
    assert replies == [[20], [10, 1010], [0, 1000, 2000]]
