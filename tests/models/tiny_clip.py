"""A CLIP of random weights in the formats of transformers and of open_clip."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import CLIPConfig, CLIPModel

SIDE = 56
WIDTH = 32
HEADS = 2
LAYERS = 2
SHARED = 24
_VOCABULARY = 49_408
"""CLIP's own: open_clip carries its tokenizer."""
_CONTEXT = 16


@dataclass(frozen=True)
class TinyClip:
    """`reference`: the folder that transformers saved; `folder`: the same weights for open_clip.

    `activation`: `quick_gelu` or `gelu`.
    """

    reference: Path
    folder: Path
    activation: str


def tiny_clip(folder: Path, quick_gelu: bool = True) -> TinyClip:
    """The model in `folder/transformers` and `folder/open_clip`; weights are large enough to tell photos."""
    torch.manual_seed(5)
    activation = "quick_gelu" if quick_gelu else "gelu"
    tower = {
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "hidden_act": activation,
    }
    ends = {"bos_token_id": _VOCABULARY - 2, "eos_token_id": _VOCABULARY - 1, "pad_token_id": 0}
    text = tower | ends | {"vocab_size": _VOCABULARY, "max_position_embeddings": _CONTEXT}
    config = CLIPConfig(
        vision_config=tower | {"image_size": SIDE, "patch_size": 14}, text_config=text, projection_dim=SHARED
    )
    model = CLIPModel(config).eval()
    _sharpen(model)
    made = TinyClip(folder / "transformers", folder / "open_clip", activation)
    model.save_pretrained(made.reference)
    _save_for_open_clip(model.state_dict(), made.folder, quick_gelu)
    return made


def _sharpen(model: Any) -> None:
    """Fresh weights see all photos alike, and zero biases would hide a mistake with them."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(".bias"):
                weight.normal_(0, 0.1)
            elif "class_embedding" in name or "position_embedding" in name:
                weight.mul_(0.1)
            elif "q_proj" in name or "k_proj" in name:
                weight.mul_(5)
            elif ".layers." in name and weight.ndim == 2:
                weight.mul_(6)


def _save_for_open_clip(weights: Mapping[str, Any], folder: Path, quick_gelu: bool) -> None:
    folder.mkdir(parents=True)
    vision = {
        "image_size": SIDE,
        "patch_size": 14,
        "layers": LAYERS,
        "width": WIDTH,
        "head_width": WIDTH // HEADS,
        "mlp_ratio": 2.0,
    }
    text = {
        "context_length": _CONTEXT,
        "vocab_size": _VOCABULARY,
        "width": WIDTH,
        "heads": HEADS,
        "layers": LAYERS,
        "mlp_ratio": 2.0,
    }
    model = {"embed_dim": SHARED, "quick_gelu": quick_gelu, "vision_cfg": vision, "text_cfg": text}
    described = {"model_cfg": model, "preprocess_cfg": {"resize_mode": "shortest"}}
    (folder / "open_clip_config.json").write_text(json.dumps(described), "utf-8")
    renamed = _vision(weights) | _text(weights)
    tensors = {name: tensor.contiguous().clone() for name, tensor in renamed.items()}
    save_file(tensors, folder / "open_clip_model.safetensors")


def _vision(weights: Mapping[str, Any]) -> dict[str, Any]:
    source = "vision_model."
    return {
        "visual.class_embedding": weights[source + "embeddings.class_embedding"],
        "visual.conv1.weight": weights[source + "embeddings.patch_embedding.weight"],
        "visual.positional_embedding": weights[source + "embeddings.position_embedding.weight"],
        "visual.proj": weights["visual_projection.weight"].T,
        **_pair(weights, source + "pre_layrnorm", "visual.ln_pre"),
        **_pair(weights, source + "post_layernorm", "visual.ln_post"),
        **_blocks(weights, source, "visual."),
    }


def _text(weights: Mapping[str, Any]) -> dict[str, Any]:
    source = "text_model."
    return {
        "token_embedding.weight": weights[source + "embeddings.token_embedding.weight"],
        "positional_embedding": weights[source + "embeddings.position_embedding.weight"],
        "text_projection": weights["text_projection.weight"].T,
        "logit_scale": weights["logit_scale"],
        **_pair(weights, source + "final_layer_norm", "ln_final"),
        **_blocks(weights, source, ""),
    }


def _blocks(weights: Mapping[str, Any], source: str, target: str) -> dict[str, Any]:
    renamed: dict[str, Any] = {}
    for layer in range(LAYERS):
        old = f"{source}encoder.layers.{layer}."
        new = f"{target}transformer.resblocks.{layer}."
        for kind in ("weight", "bias"):
            parts = [weights[f"{old}self_attn.{part}_proj.{kind}"] for part in "qkv"]
            renamed[f"{new}attn.in_proj_{kind}"] = torch.cat(parts)
        renamed |= _pair(weights, old + "self_attn.out_proj", new + "attn.out_proj")
        renamed |= _pair(weights, old + "layer_norm1", new + "ln_1")
        renamed |= _pair(weights, old + "layer_norm2", new + "ln_2")
        renamed |= _pair(weights, old + "mlp.fc1", new + "mlp.c_fc")
        renamed |= _pair(weights, old + "mlp.fc2", new + "mlp.c_proj")
    return renamed


def _pair(weights: Mapping[str, Any], source: str, target: str) -> dict[str, Any]:
    return {f"{target}.{kind}": weights[f"{source}.{kind}"] for kind in ("weight", "bias")}
