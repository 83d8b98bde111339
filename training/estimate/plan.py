"""Memory of one card and hours of all of them, from sizes; what cannot be known from sizes is named here."""

from dataclasses import dataclass
from typing import Any

from training.config import LoraSettings, ModelSettings, RunSettings, WrongConfig
from training.estimate.cards import GIB, Card, card_of
from training.estimate.skeleton import skeleton
from training.estimate.step import Batch, Measured, measured

RUNTIME_GIB = 1.5
"""CUDA's context, and the allocator's fragmentation: assumed."""
MFU = 0.35
"""Model FLOPs utilisation, of the data sheet's TFLOPS, in training and in prefill: assumed."""
LAYER_S = 0.001
"""Of transformers, to launch one layer with a LoRA beside it for one more token: assumed."""
NF4_BYTES = 0.5 + 1 / 64 + 4 / (64 * 256)
"""A weight's, with its block's constant in eight bits and that one's in four bytes (QLoRA, section 3)."""
_STATES = {"adamw_torch": 8, "adamw_torch_fused": 8, "adamw_8bit": 2, "paged_adamw_8bit": 2, "sgd": 0}
_SECONDS_AN_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done. `learnt`: the largest batch of a card; `samples`: learnt from in all, each as often
    as it comes; `tokens`: of one in the mean.

    Of GRPO: `written`, the largest batch that is written on from; `new_tokens` that each sample takes, one
    after the other, after reading so many whole `prompts`.
    """

    model: ModelSettings
    lora: LoraSettings
    run: RunSettings
    learnt: Batch
    tokens: float
    samples: float
    written: Batch | None = None
    new_tokens: int = 0
    prompts: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """`parts`: GiB of one card by name; `hours`: of all samples."""

    card: Card
    parameters: int
    parts: dict[str, float]
    hours: float

    @property
    def peak(self) -> float:
        """GiB of one card."""
        return sum(self.parts.values())

    @property
    def fits(self) -> bool:
        """Whether one card holds it."""
        return self.peak <= self.card.memory


def plan(work: Work) -> Plan:
    """Raises `WrongConfig` for a card or a model that is not known."""
    card = card_of(work.run.card)
    model = skeleton(work.model, work.lora)
    learnt = measured(model, work.learnt, work.model.dtype)
    written = measured(model, work.written, work.model.dtype) if work.written else None
    frozen = [each for each in model.parameters() if not each.requires_grad]
    parts = _fixed(model, work) | {"a step's activations and gradients": learnt.step / GIB}
    if written is not None and written.step > learnt.step:
        parts.pop("a step's activations and gradients")
        parts["rollouts: KV cache and activations"] = written.step / GIB
    hours = _hours(work, card, learnt, written, parts["frozen weights"] * GIB, _layers(model))
    return Plan(card, sum(each.numel() for each in frozen), parts, hours)


def _fixed(model: Any, work: Work) -> dict[str, float]:
    """What is there from the first step to the last, in GiB."""
    in_four_bits, most = _linear(model) if work.model.quantised else (0, 0)
    width = 4 if work.model.dtype == "float32" else 2
    frozen = sum(each.numel() for each in model.parameters() if not each.requires_grad)
    learnt = sum(each.numel() for each in model.parameters() if each.requires_grad)
    lora_width = 2 if work.model.quantised else 4  # TRL casts QLoRA's
    sent = 1 if work.run.cards > 1 else 0  # DDP's copy of the gradients
    parts = {
        "frozen weights": (frozen - in_four_bits) * width + in_four_bits * NF4_BYTES,
        "LoRA": learnt * lora_width,
        "gradient buckets of the cards": learnt * lora_width * sent,
        f"optimiser states ({work.run.optimiser})": learnt * _states(work.run.optimiser),
        "the largest layer, dequantised": most * width,
        "CUDA context and fragmentation (assumed)": RUNTIME_GIB * GIB,
    }
    return {name: size / GIB for name, size in parts.items() if size}


def _states(optimiser: str) -> int:
    """Bytes a weight. Raises `WrongConfig`."""
    if optimiser not in _STATES:
        raise WrongConfig(f"There are no figures for the optimiser {optimiser}: {', '.join(_STATES)}.")
    return _STATES[optimiser]


def _linear(model: Any) -> tuple[int, int]:
    """Weights that are kept in four bits: all of frozen linear layers but the last, and the largest one's."""
    import torch

    last = model.get_output_embeddings()
    sizes = [
        module.weight.numel()
        for module in model.modules()
        if isinstance(module, torch.nn.Linear) and module is not last and not module.weight.requires_grad
    ]
    return sum(sizes), max(sizes)


def _layers(model: Any) -> int:
    return int(model.get_base_model().config.get_text_config().num_hidden_layers)


def _hours(
    work: Work, card: Card, learnt: Measured, written: Measured | None, weights: float, layers: int
) -> float:
    flops = learnt.flops / work.learnt.sequences * work.tokens / work.learnt.tokens
    seconds = flops / (card.tflops * 1e12 * MFU)
    if written is not None and work.written is not None:
        at_once = work.written.sequences
        seconds += work.prompts * written.flops / at_once / (card.tflops * 1e12 * MFU)
        seconds += work.new_tokens * max(weights / (card.bandwidth * 1e9), layers * LAYER_S) / at_once
    return work.samples * seconds / work.run.cards / _SECONDS_AN_HOUR
