"""`--plan`: a table of the memory that a training takes of each card, from published sizes."""

from dataclasses import dataclass

import typer

from gateway.settings import GatewaySettings
from training.config import WrongConfig
from training.grpo.settings import GrpoConfig
from training.sft.settings import SftConfig

GIB = 2**30
CARDS = {
    "a100-80gb": 79.2,
    "a800-80gb": 79.2,
    "h100-80gb": 79.2,
    "h200": 139.8,
    "l40s": 44.5,
    "rtx-a6000": 47.5,
}
"""GiB of memory that a process can have."""


@dataclass(frozen=True, slots=True)
class Size:
    """Published sizes of a model. `parameters`, and `linear` of them in layers that QLoRA quantises.

    `lora`: weights of a LoRA beside all linear layers of the language model, for each of its ranks.
    `step`, `rollout`: GiB of activations for 8,192 tokens, to learn from them with gradient checkpointing, or
    to write on. Computed from the models' own code without a card, and not measured on one.
    """

    parameters: float
    linear: float
    lora: float
    step: float
    rollout: float


SIZES = {
    "meta-llama/Llama-3.2-11B-Vision-Instruct": Size(10.67e9, 9.54e9, 3.28e6, 7.3, 3.03),
    "Qwen/Qwen2.5-VL-7B-Instruct": Size(8.29e9, 7.20e9, 2.52e6, 6.6, 2.50),
    "Qwen/Qwen2.5-VL-3B-Instruct": Size(3.75e9, 3.44e9, 1.87e6, 5.4, 1.48),
}
_TOKENS = 8192
_STATES = {"adamw_torch": 8, "adamw_torch_fused": 8, "adamw_8bit": 2, "paged_adamw_8bit": 2, "sgd": 0}
"""Bytes of an optimiser's state for each weight that is learnt."""
_NF4_BYTES = 0.516
"""Bytes of a quantised weight with its constants (QLoRA, section 3)."""
_RUNTIME_GIB = 1.5
"""CUDA's context and the allocator's fragmentation: assumed."""


def plan(config: SftConfig | GrpoConfig) -> None:
    """Print the table. Ends the process with 1 if a card does not hold it. Raises `WrongConfig`."""
    from rich.console import Console
    from rich.table import Table

    parts, card = memory(config), CARDS[config.card]
    peak = sum(parts.values())
    table = Table("Memory of a card", "GiB")
    for name, size in [*parts.items(), ("in all", peak), (f"{config.card}, of {config.cards}", card)]:
        table.add_row(name, f"{size:.1f}")
    console = Console()
    console.print(table)
    console.print(f"The model has {SIZES[config.model.weights].parameters / 1e9:.2f} billion weights.")
    if peak > card:
        typer.echo("It does not fit: model.quantised=true or smaller batches take less.", err=True)
        raise typer.Exit(1)


def memory(config: SftConfig | GrpoConfig) -> dict[str, float]:
    """Return the GiB of one card by name. Raises `WrongConfig` for what has no published sizes."""
    model, lora = config.model, config.lora
    _require(model.weights, SIZES, "model")
    _require(config.card, CARDS, "card")
    _require(config.optimiser, _STATES, "optimiser")
    if not model.gradient_checkpointing:
        raise WrongConfig("The sizes are published with model.gradient_checkpointing=true only.")
    size, width = SIZES[model.weights], 4 if model.dtype == "float32" else 2
    frozen = size.parameters * width
    if model.quantised:
        frozen = (size.parameters - size.linear) * width + size.linear * _NF4_BYTES
    learnt = size.lora * lora.rank
    of_lora = learnt * (2 if model.quantised else 4)  # TRL casts QLoRA's
    return {
        "frozen weights": frozen / GIB,
        "LoRA, and its gradients' copy of several cards": of_lora * (2 if config.cards > 1 else 1) / GIB,
        f"optimiser states ({config.optimiser})": learnt * _STATES[config.optimiser] / GIB,
        "activations and gradients of a step": _step(config, size),
        "CUDA context and fragmentation (assumed)": _RUNTIME_GIB,
    }


def _step(config: SftConfig | GrpoConfig, size: Size) -> float:
    """Return the GiB for the longest samples allowed. GRPO: the larger one of learning and rollouts."""
    if isinstance(config, SftConfig):
        tokens = config.max_prompt_tokens + config.max_reply_tokens
        return size.step * config.device_batch_size * tokens / _TOKENS
    tokens = GatewaySettings().vlm_context
    written = 0 if config.vllm_url else min(config.write_at_once, config.batch_size // config.cards or 1)
    return max(size.step * config.device_batch_size, size.rollout * written) * tokens / _TOKENS


def _require(name: str, known: dict[str, Size] | dict[str, float] | dict[str, int], what: str) -> None:
    if name not in known:
        raise WrongConfig(f"There are no published sizes for the {what} {name}. Known: {', '.join(known)}.")
