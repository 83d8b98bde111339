"""Llama-3.2-11B-Vision by transformers: its weights and arithmetic, without what vLLM does for its speed."""

from typing import Any

import torch

from deploy.gpu_stages.building import built
from deploy.gpu_stages.stages import Bench, Engine, Skipped, Stage

NEEDED_BYTES = 30 * 10**9
TILES = 4


def open_mllama(bench: Bench) -> list[Stage]:
    """The VLM's three parts: looking, reading, writing."""
    from transformers import MllamaConfig, MllamaForConditionalGeneration
    from transformers.models.mllama.configuration_mllama import MllamaTextConfig, MllamaVisionConfig

    _require_room(bench)
    text = MllamaTextConfig(**bench.sizes.vlm_text)
    config = MllamaConfig(
        vision_config=MllamaVisionConfig(**bench.sizes.vlm_vision),
        text_config=text,
        image_token_index=text.vocab_size,
    )
    model = built(MllamaForConditionalGeneration, config, bench.accelerator)
    read, written = bench.sizes.vlm_tokens
    inputs = _inputs(model, read)
    looks = {name: inputs[name] for name in ("pixel_values", "aspect_ratio_ids", "aspect_ratio_mask")}
    name = "VLM: Llama-3.2-11B-Vision, transformers"

    def look(_: int) -> object:
        with torch.inference_mode():
            return model.model.vision_model(**looks)

    return [
        Stage(f"{name}, vision", f"photo of {TILES} tiles", {1: "130"}, look),
        Stage(
            f"{name}, vision and prefill",
            f"photo and {read} tokens",
            {1: "370"},
            lambda _: _generate(model, inputs, 1),
        ),
        Stage(
            f"{name}, all of it",
            f"the same, and {written} tokens written",
            {1: "3170"},
            lambda _: _generate(model, inputs, written),
        ),
    ]


def _require_room(bench: Bench) -> None:
    share = bench.accelerator.memory_bytes
    real = "hidden_size" not in bench.sizes.vlm_text
    if real and share < NEEDED_BYTES:
        raise Skipped(f"11 billion weights need {NEEDED_BYTES >> 30} GiB, and {share >> 30} GiB are here")


def _generate(model: Any, inputs: dict[str, Any], tokens: int) -> object:
    with torch.inference_mode():
        return model.generate(
            **inputs, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, pad_token_id=0
        )


def _inputs(model: Any, tokens: int) -> dict[str, Any]:
    vision = model.config.vision_config
    side, device = vision.image_size, model.device
    pixels = torch.randn(1, 1, TILES, 3, side, side, device=device, dtype=model.dtype)
    token_ids = torch.randint(4, model.config.text_config.vocab_size, (1, tokens), device=device)
    return {
        "input_ids": token_ids,
        "attention_mask": torch.ones_like(token_ids),
        "pixel_values": pixels,
        "aspect_ratio_ids": torch.full((1, 1), len(vision.supported_aspect_ratios), device=device),
        "aspect_ratio_mask": torch.ones(1, 1, TILES, dtype=torch.long, device=device),
        "cross_attention_mask": torch.ones(1, tokens, 1, TILES, dtype=torch.long, device=device),
    }


VLM = Engine("vlm", open_mllama)
