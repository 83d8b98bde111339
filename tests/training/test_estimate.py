"""What a training is said to take, against what it took, and what is published of the models."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from tests.training.made import conversation, sft_config
from training.chat import Chats
from training.cli import app
from training.config import LoraSettings, ModelSettings, RunSettings, WrongConfig, dump_config
from training.estimate.cards import CARDS, GIB, Card
from training.estimate.plan import Work, plan
from training.estimate.skeleton import skeleton
from training.estimate.step import Batch
from training.models import load
from training.runs import RunFolder
from training.samples import Message, Piece, Task, write_samples
from training.sft.finetuning import finetune
from training.sft.mixture import read_mixture
from training.sft.settings import SftConfig
from training.tiny.models import tiny_mllama, tiny_qwen3_vl, tiny_qwen25_vl

MODELS = {"mllama": tiny_mllama, "qwen2.5-vl": tiny_qwen25_vl, "qwen3-vl": tiny_qwen3_vl}
PUBLISHED = {
    "meta-llama/Llama-3.2-11B-Vision-Instruct": 10.67e9,
    "Qwen/Qwen2.5-VL-7B-Instruct": 8.29e9,
    "Qwen/Qwen2.5-VL-3B-Instruct": 3.75e9,
}


def peak_of_training(config: SftConfig, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes that the allocator gave out at most while a run trained, by torch's profiler."""
    from trl import SFTTrainer

    train, found = SFTTrainer.train, list[int]()

    def profiled(trainer: SFTTrainer, **given: object) -> object:
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as seen:
            result = train(trainer, **given)
        held = 0
        events = [each for each in seen.profiler.kineto_results.events() if each.name() == "[memory]"]
        for event in sorted(events, key=lambda each: each.start_ns()):
            held += event.nbytes()
            found.append(held)
        return result

    monkeypatch.setattr(SFTTrainer, "train", profiled)
    run = RunFolder(folder, say=lambda _: None)
    run.begin(dump_config(config))
    finetune(config, run)
    return max(found)


def long_samples(folder: Path, count: int) -> Path:
    """With so many words that the photo, which the estimate leaves out, is small beside them."""
    words = Message(
        role="user", content=(Piece(type="image"), Piece(type="text", text="How high is it? " * 60))
    )
    samples = [
        conversation(folder, number, Task.ANSWER, "It is 96 m high.", messages=(words,))
        for number in range(count)
    ]
    write_samples(folder, Task.ANSWER, samples)
    return folder


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_the_estimated_peak_is_the_measured_one(
    build: Callable[[Path], Path], checkpointing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # TRL's buffer for all words is as large for 600 of them as for 150,000: here it would hide the rest.
    monkeypatch.setattr("trl.trainer.utils._CHUNKED_LOGPROB_CHUNK_SIZE", 64)
    weights, data = build(tmp_path / "model"), long_samples(tmp_path / "data", 8)
    model = {"weights": str(weights), "dtype": "float32", "gradient_checkpointing": checkpointing}
    config = sft_config(data, weights, tasks=["answer"], model=model, most_steps=2, epochs=2)
    chats = Chats(load(config.model).processor)
    learnt = [each.turn for each in read_mixture(config, chats).train]
    given = chats.training_inputs(learnt)
    tokens = int(given["input_ids"].shape[1])

    planned = plan(Work(config.model, config.lora, config, Batch(8, tokens, tokens), tokens, 8))
    already = ("frozen weights", "LoRA", "CUDA context and fragmentation (assumed)")
    estimate = sum(size for name, size in planned.parts.items() if name not in already) * GIB
    peak = peak_of_training(config, tmp_path / "run", monkeypatch)
    print(f"measured {peak / 2**20:.1f} MiB, estimated {estimate / 2**20:.1f} MiB")  # noqa: T201
    assert peak == pytest.approx(estimate, rel=0.15)


@pytest.mark.parametrize("weights", PUBLISHED)
def test_the_published_models_are_planned_without_the_hub_at_their_published_size(weights: str) -> None:
    shapes = skeleton(ModelSettings(weights=weights), LoraSettings())
    frozen = sum(each.numel() for each in shapes.parameters() if not each.requires_grad)
    assert frozen == pytest.approx(PUBLISHED[weights], rel=0.01)


def test_a_larger_lora_and_longer_samples_take_more_and_four_bits_less(tmp_path: Path) -> None:
    def planned(rank: int, cards: int, quantised: bool = False, tokens: int = 64) -> tuple[float, float]:
        model = ModelSettings(weights=str(tmp_path / "model"), quantised=quantised)
        run = RunSettings(epochs=1, learning_rate=1e-5, cards=cards)
        work = Work(model, LoraSettings(rank=rank), run, Batch(1, tokens, tokens), tokens, 100)
        found = plan(work)
        return found.peak, found.hours

    tiny_qwen25_vl(tmp_path / "model")
    usual = planned(8, 2)
    assert planned(64, 2)[0] > usual[0] > planned(8, 2, quantised=True)[0]
    assert planned(8, 2, tokens=640)[0] > usual[0]
    assert planned(8, 2, tokens=640)[1] > 5 * usual[1]


def test_a_plan_says_what_fits_and_makes_nothing(tmp_path: Path) -> None:
    weights = tiny_qwen3_vl(tmp_path / "model")
    data = tmp_path / "data"
    samples = [conversation(data, number, Task.ANSWER, "Ada.") for number in range(3)]
    write_samples(data, Task.ANSWER, samples)
    config = sft_config(data, weights, tasks=["answer"], card="l40s")
    (tmp_path / "config.yaml").write_text(dump_config(config))
    said = CliRunner().invoke(
        app, ["sft", str(tmp_path / "config.yaml"), "--plan", "--out", str(tmp_path / "run")]
    )
    assert said.exit_code == 0, said.output
    for words in ("frozen weights", "peak", "One epoch of 3 samples", "Assumed"):
        assert words in said.output
    assert not (tmp_path / "run").exists()


def test_a_plan_for_a_card_that_is_too_small_ends_with_1_and_says_what_takes_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CARDS, "l40s", Card(memory=1.0, tflops=1, bandwidth=1))
    weights = tiny_qwen3_vl(tmp_path / "model")
    config = sft_config(tmp_path, weights, tasks=["answer"], card="l40s").model_copy(update={"data": ()})
    (tmp_path / "config.yaml").write_text(dump_config(config))
    said = CliRunner().invoke(app, ["sft", str(tmp_path / "config.yaml"), "--plan"])
    assert said.exit_code == 1
    assert "It does not fit" in said.output


def test_the_recipe_for_48_gb_fits_them(tmp_path: Path) -> None:
    said = CliRunner().invoke(app, ["sft", "blackpearl-table-6-48gb", "--plan"])
    assert said.exit_code == 0, said.output
    assert "10.67 billion" in said.output


def test_a_card_that_nobody_knows_is_refused_with_those_that_are_known(tmp_path: Path) -> None:
    run = RunSettings(epochs=1, learning_rate=1, card="abacus")
    work = Work(ModelSettings(weights=str(tmp_path)), LoraSettings(), run, Batch(1, 8, 8), 8, 1)
    with pytest.raises(WrongConfig, match=r"abacus; there are for a100-80gb"):
        plan(work)


def test_steps_that_are_few_bound_the_time(tmp_path: Path) -> None:
    weights = tiny_qwen3_vl(tmp_path / "model")
    config = sft_config(tmp_path / "none", weights, card="l40s").model_copy(update={"data": ()})
    (tmp_path / "config.yaml").write_text(dump_config(config))
    said = CliRunner().invoke(app, ["sft", str(tmp_path / "config.yaml"), "--plan"])
    assert "1,000 samples, once" in said.output
    data = long_samples(tmp_path / "data", 12)
    few = ["--set", "tasks=[answer]", "--set", "most_steps=1"]
    said = CliRunner().invoke(app, ["sft", str(tmp_path / "config.yaml"), str(data), "--plan", *few])
    assert "At most 1 steps of 12 samples" in said.output
