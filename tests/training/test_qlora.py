"""QLoRA: training on 4-bit weights and merging into the full weights."""

from pathlib import Path
from typing import Any

import pytest

from tests.training.made import sft_config, three_tasks, trained
from tests.training.tiny_models import tiny_qwen25_vl
from training.chat import Chats
from training.config import ModelSettings
from training.models import Loaded, load, merge, tensors
from training.runs import ADAPTER
from training.sft import SftConfig, read_mixture


@pytest.fixture(scope="module", autouse=True)
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
def config(tmp_path: Path) -> SftConfig:
    """A short run on a tiny Qwen2.5-VL in four bits."""
    weights = tiny_qwen25_vl(tmp_path / "model")
    model = {"weights": str(weights), "dtype": "float32", "gradient_checkpointing": False, "quantised": True}
    return sft_config(three_tasks(tmp_path / "data", 4), weights, model=model, epochs=8, log_every=4)


def adapted(loaded: Loaded, adapter: Path) -> Any:
    """The model with that adapter beside its weights."""
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
    """Those weights, not quantised."""
    return load(settings.model_copy(update={"quantised": False, "weights": str(weights)}))


def test_adapted_layers_are_four_bit(config: SftConfig) -> None:
    from bitsandbytes.nn.modules import Params4bit

    quantised, weights = load(config.model).model, Path(config.model.weights)
    layers = [
        (quantised.get_submodule(name), layer.weight)
        for name, layer in whole(config.model, weights).model.named_modules()
        if name.rpartition(".")[2] in config.lora.target_modules
    ]
    assert layers
    for layer, weight in layers:
        assert isinstance(layer.weight, Params4bit)
        assert layer.weight.nbytes == weight.numel() / 2


def test_four_bit_adapter_merges_into_full_weights(config: SftConfig, tmp_path: Path) -> None:
    import torch

    run, base = trained(config, tmp_path / "run"), tmp_path / "model"
    losses = [line["loss"] for line in run.metrics() if "loss" in line]
    assert losses[-1] < losses[0] / 3
    adapter, out = run.path / ADAPTER, tmp_path / "merged"
    merge(config.model, adapter, out, "qwen2.5-vl-7b", {})
    assert tensors(out) == tensors(base)
    merged, plain = whole(config.model, out), whole(config.model, base)
    _, before = read(plain, config, plain.model)
    logits, after = read(merged, config, merged.model)
    assert after < before / 3
    expected, _ = read(plain, config, adapted(plain, adapter))
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)
