"""A Qwen3-Reranker with two layers and random weights.

Its attention heads have the smallest size that vLLM supports on a CPU.
"""

from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tests.models.tiny import byte_bpe

ROOM = 512
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tiny_qwen3(folder: Path) -> Path:
    """Saved as `save_pretrained` does; input and output embeddings are tied, as in the 0.6B model."""
    torch.manual_seed(12)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=byte_bpe(SPECIALS), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.add_tokens([word for word in ("yes", "no") if len(tokenizer.encode(word)) != 1])
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=ROOM,
        tie_word_embeddings=True,
        initializer_range=0.15,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
