"""A Grounding DINO of random weights. Its vocabulary numbers the marks as BERT's uncased one does."""

import string
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertTokenizer,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    GroundingDinoImageProcessorPil,
    SwinConfig,
)

SHORTEST, LONGEST = 128, 192
"""The photo's sides in the tiny model's scale."""

WORDS = ["cat", "red", "dog", "blue", "tower", "book", "cup", "car", "vehicle", "dr", "pepper", "sign"]


def bert_numbered(folder: Path) -> Any:
    """A `BertTokenizer` with [CLS], [SEP], "." and "?" at 101, 102, 1012 and 1029, saved in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [f"[unused{place}]" for place in range(1100)]
    marks = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
    for place, mark in marks.items():
        pieces[place] = mark
    signs = [*string.ascii_lowercase, *string.digits, *"!,-'/:[]"]
    pieces[1030:] = [*signs, *(f"##{sign}" for sign in string.ascii_lowercase + string.digits), *WORDS]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
    tokenizer = BertTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    return tokenizer


def tiny_gdino(folder: Path) -> Path:
    """Saved as `save_pretrained` does; weights are large enough for photo and prompt to matter."""
    torch.manual_seed(5)
    tokenizer = bert_numbered(folder)
    backbone = SwinConfig(
        image_size=64,
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 2, 4],
        window_size=4,
        out_features=["stage2", "stage3", "stage4"],
    )
    text = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    config = GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=20,
        max_text_len=48,
    )
    model = GroundingDinoForObjectDetection(config)
    _enliven(model)
    model.save_pretrained(folder)
    size = {"shortest_edge": SHORTEST, "longest_edge": LONGEST}
    GroundingDinoImageProcessorPil(size=size).save_pretrained(folder)
    return folder


def _enliven(model: Any) -> None:
    """Initial weights are so small that all queries answer alike; these tell photos and words apart."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" not in name and weight.ndim > 1:
                weight.normal_(0, 0.15)
            if name.endswith(("vision_param", "text_param")):
                weight.fill_(0.5)
            if name.endswith("decoder.layer_norm.weight"):
                weight.fill_(0.15)  # or every score is 0 or 1
