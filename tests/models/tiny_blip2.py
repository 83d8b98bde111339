"""A BLIP-2 image-text-retrieval model of 8 query tokens and random weights."""

import shutil
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    AutoTokenizer,
    Blip2Config,
    Blip2ForImageTextRetrieval,
    Blip2QFormerConfig,
    Blip2VisionConfig,
    BlipImageProcessor,
    BlipImageProcessorPil,
    OPTConfig,
)

from tests.models.tiny import wordpiece

QUERY_TOKENS = 8
HIDDEN = 32
SHARED = 24
LONGEST_TEXT = 64


def tiny_blip2(folder: Path) -> Path:
    """Saved as `save_pretrained` does; every layer cross-attends, weights are large enough to matter."""
    torch.manual_seed(11)
    tokenizer = wordpiece(folder)
    vision = Blip2VisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=56,
        patch_size=14,
        initializer_range=0.3,
    )
    qformer = Blip2QFormerConfig(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        encoder_hidden_size=32,
        cross_attention_frequency=2,
        max_position_embeddings=LONGEST_TEXT,
        use_qformer_text_input=True,
        initializer_range=0.4,
    )
    unused = OPTConfig(hidden_size=32, num_hidden_layers=1, ffn_dim=64, num_attention_heads=2)
    config = Blip2Config(
        vision_config=vision.to_dict(),
        qformer_config=qformer.to_dict(),
        text_config=unused.to_dict(),
        num_query_tokens=QUERY_TOKENS,
        image_text_hidden_size=SHARED,
        initializer_range=0.4,
    )
    model = Blip2ForImageTextRetrieval(config)
    with torch.no_grad():
        model.query_tokens.normal_()
        for projection in (model.vision_projection, model.text_projection):
            projection.bias.fill_(2.0)  # random towers point anywhere: most cosines shall be above 0
    model.save_pretrained(folder)
    BlipImageProcessor(size={"height": 56, "width": 56}).save_pretrained(folder)
    return folder


def with_other_queries(base: Path, folder: Path) -> Path:
    """A model of the same shapes, whose query tokens are others."""
    shutil.copytree(base, folder)
    model = Blip2ForImageTextRetrieval.from_pretrained(base)
    with torch.no_grad():
        model.query_tokens.copy_(model.query_tokens.flip(-1))
    model.save_pretrained(folder)
    return folder


def direct_states(folder: Path, question: str, photo: NDArray[np.uint8] | None) -> torch.Tensor:
    """Return the query tokens' states for a question and a photo, computed by transformers: [queries, size].

    Without a photo, the model gets an image of zeros.
    """
    model = Blip2ForImageTextRetrieval.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(question, return_tensors="pt")
    pixels = torch.zeros(1, 3, 56, 56)
    if photo is not None:
        pixels = BlipImageProcessorPil.from_pretrained(folder)(photo, return_tensors="pt")["pixel_values"]
    with torch.inference_mode():
        states: torch.Tensor = model.qformer(
            query_embeds=model.embeddings(input_ids=tokens["input_ids"], query_embeds=model.query_tokens),
            query_length=QUERY_TOKENS,
            encoder_hidden_states=model.vision_model(pixels).last_hidden_state,
        ).last_hidden_state
    return states[0, :QUERY_TOKENS]
