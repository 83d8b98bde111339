"""A BERT with random weights in the layout of BGE's checkpoints.

Its attention heads have the smallest size that vLLM supports.
"""

from pathlib import Path

import torch
from transformers import BertConfig, BertModel

from tests.models.tiny import wordpiece

SIZE = 32
POSITIONS = 64


def tiny_bge(folder: Path) -> Path:
    """Saved as `save_pretrained` does; weights are large enough that other texts get other vectors."""
    torch.manual_seed(17)
    tokenizer = wordpiece(folder)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=SIZE,
        num_hidden_layers=2,
        num_attention_heads=1,
        intermediate_size=64,
        max_position_embeddings=POSITIONS,
        initializer_range=0.4,
    )
    BertModel(config).save_pretrained(folder)
    return folder
