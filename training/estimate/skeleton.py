"""A model with its LoRA whose weights have shapes and no numbers: it takes no memory, and no download."""

from pathlib import Path
from typing import Any

from training.config import LoraSettings, ModelSettings, WrongConfig
from training.models import lora_config

_QWEN25 = "Qwen/Qwen2.5-VL-{}-Instruct"
_QWEN25_ROPE = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
_KNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "meta-llama/Llama-3.2-11B-Vision-Instruct": ("mllama", {"vision_config": {"image_size": 560}}),
    _QWEN25.format("7B"): (
        "qwen2_5_vl",
        {
            "text_config": {
                "hidden_size": 3584,
                "intermediate_size": 18944,
                "num_hidden_layers": 28,
                "num_attention_heads": 28,
                "num_key_value_heads": 4,
                "vocab_size": 152064,
                "rope_parameters": _QWEN25_ROPE,
            },
            "vision_config": {"hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 3584},
        },
    ),
    _QWEN25.format("3B"): (
        "qwen2_5_vl",
        {
            "tie_word_embeddings": True,
            "text_config": {
                "hidden_size": 2048,
                "intermediate_size": 11008,
                "num_hidden_layers": 36,
                "num_attention_heads": 16,
                "num_key_value_heads": 2,
                "vocab_size": 151936,
                "rope_parameters": _QWEN25_ROPE,
            },
            "vision_config": {"hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 2048},
        },
    ),
}
"""What the published config.json of the presets' models say, so that they are planned without the hub."""


def skeleton(model: ModelSettings, lora: LoraSettings) -> Any:
    """PEFT's model on torch's `meta` device, ready to be trained. Raises `WrongConfig`."""
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForImageTextToText

    config = config_of(model.weights)
    with torch.device("meta"):
        try:
            bare = AutoModelForImageTextToText.from_config(
                config, dtype=getattr(torch, model.dtype), attn_implementation=model.attention
            )
        except (ImportError, ValueError) as error:
            raise WrongConfig(f"{model.weights} cannot be built: {str(error).splitlines()[0]}") from error
        adapted = get_peft_model(bare, lora_config(bare, lora))
    if model.gradient_checkpointing:
        adapted.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        adapted.enable_input_require_grads()
    return adapted.train()


def config_of(weights: str) -> Any:
    """The model's own config: of a folder, of the hub's copy here, as published, or from the hub."""
    from transformers import AutoConfig

    try:
        if weights in _KNOWN and not Path(weights).exists():
            kind, given = _KNOWN[weights]
            return AutoConfig.for_model(kind, **given)
        return AutoConfig.from_pretrained(weights)
    except (OSError, ValueError) as error:
        raise WrongConfig(f"{weights} cannot be read: {str(error).splitlines()[0]}") from error
