"""The published architectures, as their config files on the hub have them, and tiny ones of their shape."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from services.reader.measure_passages import PRESETS as READERS

Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Arguments of the libraries' config classes, and how much a request brings.

    `photo`: height and width of a photo as CRAG-MM's glasses take it. `passage`: words of a chunk.
    """

    clip: Config
    bert: Config
    swin: Config
    detector: Config
    detector_text: Config
    photo_sides: tuple[int, int]
    vision: Config
    qformer: Config
    blip2: Config
    qwen3: Config
    minilm: Config
    roberta: Config
    vlm_vision: Config
    vlm_text: Config
    vlm_tokens: tuple[int, int]
    photo: tuple[int, int] = (1280, 960)
    passage: int = 200


PUBLISHED = Sizes(
    # open_clip's ViT-L-14-336-quickgelu
    clip={
        "embed_dim": 768,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 336, "layers": 24, "width": 1024, "patch_size": 14},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 768, "heads": 12, "layers": 12},
    },
    # BAAI/bge-large-en-v1.5
    bert={
        "vocab_size": 30522,
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
    # IDEA-Research/grounding-dino-tiny: Swin-T and bert-base-uncased
    swin={
        "image_size": 224,
        "embed_dim": 96,
        "depths": [2, 2, 6, 2],
        "num_heads": [3, 6, 12, 24],
        "window_size": 7,
    },
    detector={},
    detector_text={"vocab_size": 30522},
    photo_sides=(800, 1333),
    # Salesforce/blip2-itm-vit-g
    vision={
        "hidden_size": 1408,
        "intermediate_size": 6144,
        "num_hidden_layers": 39,
        "num_attention_heads": 16,
        "image_size": 224,
        "patch_size": 14,
    },
    qformer={"vocab_size": 30523, "encoder_hidden_size": 1408},
    blip2={"num_query_tokens": 32, "image_text_hidden_size": 256},
    # Qwen/Qwen3-Reranker-0.6B
    qwen3={
        "vocab_size": 151669,
        "hidden_size": 1024,
        "intermediate_size": 3072,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "max_position_embeddings": 40960,
        "tie_word_embeddings": True,
    },
    # deepset/minilm-uncased-squad2, deepset/roberta-base-squad2
    minilm=READERS["minilm"],
    roberta=READERS["roberta"],
    # meta-llama/Llama-3.2-11B-Vision-Instruct
    vlm_vision={"image_size": 560},
    vlm_text={},
    vlm_tokens=(2500, 100),
)

_TINY_LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}

TINY = Sizes(
    clip={
        "embed_dim": 24,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 56, "layers": 2, "width": 32, "head_width": 16, "patch_size": 14},
        "text_cfg": {"context_length": 16, "vocab_size": 64, "width": 32, "heads": 2, "layers": 2},
    },
    bert={"vocab_size": 1200, **_TINY_LAYERS},
    swin={
        "image_size": 64,
        "embed_dim": 16,
        "depths": [1, 1, 1, 1],
        "num_heads": [1, 2, 2, 4],
        "window_size": 4,
    },
    detector={
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "num_queries": 20,
    },
    detector_text={"vocab_size": 1200, **_TINY_LAYERS},
    photo_sides=(96, 160),
    vision={**_TINY_LAYERS, "image_size": 56, "patch_size": 14},
    qformer={**_TINY_LAYERS, "vocab_size": 1200, "encoder_hidden_size": 32},
    blip2={"num_query_tokens": 8, "image_text_hidden_size": 24},
    qwen3={
        **_TINY_LAYERS,
        "vocab_size": 400,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "max_position_embeddings": 1024,
    },
    minilm={"vocab_size": 1200, **_TINY_LAYERS},
    roberta={"vocab_size": 1200, "type_vocab_size": 1, **_TINY_LAYERS},
    vlm_vision={
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_global_layers": 1,
        "attention_heads": 2,
        "intermediate_size": 64,
        "vision_output_dim": 96,
        "image_size": 56,
        "intermediate_layers_indices": [0, 1],
    },
    vlm_text={
        **_TINY_LAYERS,
        "vocab_size": 300,
        "num_key_value_heads": 2,
        "cross_attention_layers": [1],
        "max_position_embeddings": 512,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 3,
    },
    vlm_tokens=(40, 4),
    photo=(320, 240),
    passage=20,
)
