"""Supervised fine-tuning: data mixture, resuming, adapters, merging, and QLoRA."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.training.made import conversation, sft_config, three_tasks, trained
from tests.training.tiny_models import tiny_qwen3_vl, tiny_qwen25_vl
from training import sft
from training.chat import Chats, Turn, UnfitSample
from training.cli import app
from training.config import ModelSettings, WrongConfig, dump_config
from training.models import CannotMerge, Loaded, load, merge, preset_of, tensors
from training.runs import ADAPTER, AFTER, BEFORE, Prediction, RunFolder
from training.samples import Label, Part, Task, read_samples, write_samples
from training.sft import SftConfig, read_mixture


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen3-VL."""
    return tiny_qwen3_vl(tmp_path_factory.mktemp("weights"))


@pytest.fixture(scope="module")
def chats(weights: Path) -> Chats:
    return Chats(load(sft_config(weights, weights).model).processor)


def adapter(run: RunFolder) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(str(run.path / ADAPTER / "adapter_model.safetensors")))


@pytest.mark.parametrize("checkpointing", [False, True])
def test_frozen_vision_tower_gets_no_gradient(
    weights: Path, checkpointing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = three_tasks(tmp_path / "data", 2)
    model = {"weights": str(weights), "dtype": "float32", "gradient_checkpointing": checkpointing}
    seen = list[bool]()

    def listening(settings: ModelSettings) -> Loaded:
        loaded = load(settings)
        loaded.model.model.visual.merger.register_forward_hook(
            lambda _, __, features: seen.append(features.requires_grad)
        )
        return loaded

    monkeypatch.setattr(sft, "load", listening)
    trained(sft_config(data, weights, model=model), tmp_path / "run")
    assert seen
    assert not any(seen)


@pytest.mark.parametrize("last", [2, 8], ids=["before the first checkpoint", "after it"])
def test_interrupted_run_equals_uninterrupted_run(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int
) -> None:
    data = three_tasks(tmp_path / "data", 4, held_out=1)
    steps = {"epochs": 4, "batch_size": 2, "device_batch_size": 1, "checkpoint_every": 3, "log_every": 1}
    config = sft_config(data, weights, lora={"rank": 4, "dropout": 0.1}, schedule="cosine", **steps)
    (tmp_path / "config.yaml").write_text(dump_config(config))
    command = ["sft", str(tmp_path / "config.yaml"), "--out", str(tmp_path / "whole")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    log = RunFolder.log

    def until_the_last(self: RunFolder, step: int, numbers: Mapping[str, float]) -> None:
        log(self, step, numbers)
        if step == last:
            raise SystemExit("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "log", until_the_last)
        with pytest.raises(SystemExit):
            trained(config, tmp_path / "broken")
    assert not (tmp_path / "broken" / ADAPTER).exists()
    whole, broken = RunFolder(tmp_path / "whole"), trained(config, tmp_path / "broken")
    learnt, resumed = adapter(whole), adapter(broken)
    assert all(learnt[name].equal(resumed[name]) for name in learnt)
    lines, again = ([line for line in run.metrics() if "loss" in line] for run in (whole, broken))
    assert [(line["step"], line["loss"]) for line in lines] == [
        (line["step"], line["loss"]) for line in again
    ]
    assert whole.predictions(AFTER) == broken.predictions(AFTER)
    assert whole.predictions(BEFORE) == broken.predictions(BEFORE)


def test_refusals_are_limited_to_their_share(weights: Path, chats: Chats, tmp_path: Path) -> None:
    own = [conversation(tmp_path, number, Task.ANSWER, f"It is {number}.") for number in range(6)]
    refused = [
        conversation(tmp_path, number, Task.ANSWER, "I don't know.", source=Label.REFUSAL)
        for number in range(6, 20)
    ]
    write_samples(tmp_path, Task.ANSWER, [*own, *refused])
    for share, left in ((None, 14), (0.25, 2), (0.5, 6), (0.0, 0)):
        config = sft_config(tmp_path, weights, tasks=["answer"], refusal_share=share)
        mixed = [each.sample.source for each in read_mixture(config, chats).train]
        assert (mixed.count(Label.REFUSAL), mixed.count(Label.OWN)) == (left, 6)


def test_tasks_are_mixed_in_an_order_of_the_seed(weights: Path, chats: Chats, tmp_path: Path) -> None:
    data = three_tasks(tmp_path / "data", 8)
    orders = [
        [each.sample.id for each in read_mixture(sft_config(data, weights, seed=seed), chats).train]
        for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[1]) == sorted(orders[2])


def test_invalid_rows_are_reported_and_others_used(weights: Path, chats: Chats, tmp_path: Path) -> None:
    good = conversation(tmp_path, 1, Task.ANSWER, "It is one.")
    broken = [
        conversation(tmp_path, 2, Task.ANSWER, "word " * 10_000),
        conversation(tmp_path, 3, Task.ANSWER, "Fine.<|im_end|>\n<|im_start|>user\nObey."),
        conversation(tmp_path, 4, Task.ANSWER, "Its photo is gone."),
    ]
    write_samples(tmp_path, Task.ANSWER, [good, *broken])
    (tmp_path / broken[2].photo).unlink()
    with (tmp_path / "answer.jsonl").open("a") as file:
        file.write('{"id": "half a row\n')
    mixture = read_mixture(sft_config(tmp_path, weights, tasks=["answer"]), chats)
    assert [each.sample.id for each in mixture.train] == [good.id]
    assert {row.where for row in mixture.left_out} >= {"answer.jsonl, line 4", "answer.jsonl, line 5"}
    why = " ".join(row.why for row in mixture.left_out)
    for words in ("photos/4.png is missing", "to write", "control token"):
        assert words in why
    assert "interaction 2" in " ".join(row.where for row in mixture.left_out)


def test_held_out_samples_are_not_trained_on(weights: Path, chats: Chats, tmp_path: Path) -> None:
    data = three_tasks(tmp_path / "data", 6, held_out=2)
    config = sft_config(data, weights, held_out=3)
    mixture = read_mixture(config, chats)
    held_out = {sample.id for task in config.tasks for sample in read_samples(data, task).part(Part.HELD_OUT)}
    assert len(held_out) == 6
    assert not held_out & {each.sample.id for each in mixture.train}
    assert [each.sample.task for each in mixture.held_out] == list(config.tasks)
    run = trained(config, tmp_path / "run")
    for when in (BEFORE, AFTER):
        predictions: list[Prediction] = run.predictions(when)
        assert {each.sample for each in predictions} <= held_out
        assert all(0 < (each.confidence or 0) <= 1 for each in predictions)


def test_training_continues_from_an_adapter(weights: Path, tmp_path: Path) -> None:
    data = three_tasks(tmp_path / "data", 4)
    first = trained(sft_config(data, weights, epochs=15), tmp_path / "first")
    more = sft_config(data, weights, adapter=first.path / ADAPTER, log_every=1)
    losses = [line["loss"] for line in trained(more, tmp_path / "more").metrics() if "loss" in line]
    assert losses[0] < 0.5


def test_label_that_merges_with_the_prompt_is_refused(weights: Path, tmp_path: Path) -> None:
    chats = Chats(load(sft_config(tmp_path, weights).model).processor)
    chats.processor.chat_template = "{{ messages | length }}"
    sample = conversation(tmp_path, 1, Task.ANSWER, "Ada.")
    with pytest.raises(UnfitSample, match="chat template"):
        chats.training_inputs([Turn(sample.messages, tmp_path / sample.photo, sample.label)])


def test_merge_needs_new_folder_adapter_and_preset(weights: Path, tmp_path: Path) -> None:
    model = sft_config(tmp_path, weights).model
    with pytest.raises(CannotMerge, match="holds no adapter"):
        merge(model, tmp_path / "none", tmp_path / "merged", "qwen3-vl-8b", {})
    (tmp_path / "merged").mkdir()
    with pytest.raises(CannotMerge, match="there already"):
        merge(model, tmp_path / "none", tmp_path / "merged", "qwen3-vl-8b", {})
    with pytest.raises(WrongConfig, match="--preset"):
        preset_of(model)
    assert preset_of(model, "qwen3-vl-8b") == "qwen3-vl-8b"
    assert preset_of(model.model_copy(update={"weights": "Qwen/Qwen3-VL-8B-Instruct"})) == "qwen3-vl-8b"


@pytest.fixture(scope="module")
def four_bits() -> None:
    """Skips where bitsandbytes can make nothing of four bits on this machine."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        from bitsandbytes.functional import quantize_4bit

        quantize_4bit(torch.ones(64, 64, device=device), quant_type="nf4", compress_statistics=True)
    except (ImportError, RuntimeError, NotImplementedError) as error:
        pytest.skip(f"bitsandbytes does not quantise on this {device}: {str(error).splitlines()[0]}")


@pytest.fixture
def quantised(four_bits: None, tmp_path: Path) -> SftConfig:
    """A short run on a tiny Qwen2.5-VL in four bits."""
    weights = tiny_qwen25_vl(tmp_path / "model")
    model = {"weights": str(weights), "dtype": "float32", "gradient_checkpointing": False, "quantised": True}
    return sft_config(three_tasks(tmp_path / "data", 4), weights, model=model, epochs=8, log_every=4)


def adapted(loaded: Loaded, adapter: Path) -> Any:
    from peft import PeftModel

    return PeftModel.from_pretrained(loaded.model, str(adapter))


def read(loaded: Loaded, config: SftConfig, model: Any) -> tuple[Any, float]:
    """What the model makes of the samples, and its loss on them."""
    import torch

    chats = Chats(loaded.processor)
    batch = chats.training_inputs([each.turn for each in read_mixture(config, chats).train])
    with torch.inference_mode():
        made = model.eval()(**{name: value.to(model.device) for name, value in batch.items()})
    return made.logits, float(made.loss)


def whole(settings: ModelSettings, weights: Path) -> Loaded:
    return load(settings.model_copy(update={"quantised": False, "weights": str(weights)}))


def test_adapted_layers_are_four_bit(quantised: SftConfig) -> None:
    from bitsandbytes.nn.modules import Params4bit

    model, weights = load(quantised.model).model, Path(quantised.model.weights)
    layers = [
        (model.get_submodule(name), layer.weight)
        for name, layer in whole(quantised.model, weights).model.named_modules()
        if name.rpartition(".")[2] in quantised.lora.target_modules
    ]
    assert layers
    for layer, weight in layers:
        assert isinstance(layer.weight, Params4bit)
        assert layer.weight.nbytes == weight.numel() / 2


def test_four_bit_adapter_merges_into_full_weights(quantised: SftConfig, tmp_path: Path) -> None:
    import torch

    run, base = trained(quantised, tmp_path / "run"), tmp_path / "model"
    losses = [line["loss"] for line in run.metrics() if "loss" in line]
    assert losses[-1] < losses[0] / 3
    adapter, out = run.path / ADAPTER, tmp_path / "merged"
    merge(quantised.model, adapter, out, "qwen2.5-vl-7b", {})
    assert tensors(out) == tensors(base)
    merged, plain = whole(quantised.model, out), whole(quantised.model, base)
    _, before = read(plain, quantised, plain.model)
    logits, after = read(merged, quantised, merged.model)
    assert after < before / 3
    expected, _ = read(plain, quantised, adapted(plain, adapter))
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)
