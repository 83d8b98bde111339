"""The trained model's writer in rollouts: sampling, stopping and batching."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from gateway.llm.alignment import align
from tests.training.made import sft_config
from tests.training.tiny_models import tiny_qwen25_vl
from training.chat import Chats
from training.grpo.writing import Ask, Continuation, OwnWriter, Together, ended
from training.models import load, with_lora

PLAN = "<think>Small.</think>\n<tool>\n1. grounding: the book\n</tool>"


def test_rollout_ends_at_the_stop_tag(tmp_path: Path) -> None:
    chats = Chats(load(sft_config(tmp_path, tiny_qwen25_vl(tmp_path / "model")).model).processor)
    end = chats.tokenizer.eos_token_id
    ask = Ask((), None, 100, "</tool>")
    whole = chats.ids(PLAN)
    assert ended([*whole, end, *chats.ids("and so on")], ask, chats.tokenizer) == [*whole, end]
    rambling = ended([*whole, *chats.ids(" and so on")], ask, chats.tokenizer)
    assert chats.tokenizer.decode(rambling).startswith(PLAN)
    assert len(rambling) <= len(whole) + 1
    assert ended(whole, Ask((), None, 5, "</tool>"), chats.tokenizer) == whole[:5]


def test_rollouts_ignore_the_models_generation_config(tmp_path: Path) -> None:
    weights = tiny_qwen25_vl(tmp_path / "model")
    told = json.loads((weights / "generation_config.json").read_text())
    told |= {"do_sample": True, "top_k": 1, "repetition_penalty": 5.0}
    (weights / "generation_config.json").write_text(json.dumps(told))
    config = sft_config(tmp_path, weights)
    loaded = load(config.model)
    model, chats = with_lora(loaded, config.lora, seed=0).train(), Chats(loaded.processor)
    accelerator = SimpleNamespace(unwrap_model=lambda wrapped: wrapped)
    trainer = SimpleNamespace(accelerator=accelerator, model_wrapped=model)
    sampling, served = (OwnWriter(trainer, chats, temperature, 1.0, 8) for temperature in (1.5, 0.0))
    ask = Ask(tuple(chats.ids("Which tower is it?")), None, 12)
    assert len({tuple(each.ids) for each in sampling([ask] * 8)}) > 4
    for likeliest in (served([ask] * 8), sampling([replace(ask, frozen=True)] * 8)):
        assert len({tuple(each.ids) for each in likeliest}) == 1
    assert model.training


def test_greedy_tokens_have_probabilities(tmp_path: Path) -> None:
    config = sft_config(tmp_path, tiny_qwen25_vl(tmp_path / "model"))
    loaded = load(config.model)
    chats, model = Chats(loaded.processor), with_lora(loaded, config.lora, seed=0)
    trainer = SimpleNamespace(
        accelerator=SimpleNamespace(unwrap_model=lambda wrapped: wrapped), model_wrapped=model
    )
    begin = chats.ids("Which tower is it?")
    longer = Ask((*begin, *begin), None, 12, frozen=True)
    (told, _) = OwnWriter(trainer, chats, 0.0, 1.0, 8)([Ask(tuple(begin), None, 8, frozen=True), longer])
    with torch.no_grad(), model.eval().disable_adapter():
        logits = model(input_ids=torch.tensor([begin + told.ids])).logits[0, len(begin) - 1 : -1]
    logits[:, chats.unwritable] = -torch.inf
    assert told.ids == logits.argmax(-1).tolist()
    assert told.probabilities == pytest.approx(logits.softmax(-1).amax(-1).tolist(), abs=1e-4)


def test_tokens_align_with_text_inside_characters(tmp_path: Path) -> None:
    chats = Chats(load(sft_config(tmp_path, tiny_qwen25_vl(tmp_path / "model")).model).processor)
    text = "Sévérac: 312 m — 高塔"
    ids = [*chats.ids(text), chats.tokenizer.eos_token_id]
    assert len(ids) > len(text)  # its letters are no tokens of so small a vocabulary
    for kept in (ids, ids[:-2]):
        tokens = Continuation(kept, [0.5] * len(kept)).tokens(chats.tokenizer)
        said = chats.tokenizer.decode(kept, skip_special_tokens=True).encode()
        spans = align(said, [token.data for token in tokens])
        assert spans is not None
        assert b"".join(said[start:end] for start, end in spans) == said


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
