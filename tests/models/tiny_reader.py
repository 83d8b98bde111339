"""Question-answering models of random weights: a BERT, and a RoBERTa without token types."""

from pathlib import Path

import torch
from tokenizers import processors
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForQuestionAnswering,
)

from tests.models.tiny import byte_bpe, wordpiece

POSITIONS = 64
_LAYERS = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "initializer_range": 0.4,
}


def tiny_reader(folder: Path) -> Path:
    """A BERT, saved as `save_pretrained` does; weights are large enough to tell the tokens apart."""
    torch.manual_seed(23)
    config = BertConfig(vocab_size=len(wordpiece(folder)), max_position_embeddings=POSITIONS, **_LAYERS)
    BertForQuestionAnswering(config).save_pretrained(folder)
    return folder


def tiny_roberta_reader(folder: Path) -> Path:
    """A RoBERTa, whose padding is token 1 and whose positions begin after it."""
    torch.manual_seed(29)
    marks = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = byte_bpe(marks)
    pieces.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        bos_token="<s>",
        cls_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_max_length=POSITIONS,
        model_input_names=["input_ids", "attention_mask"],
    )
    tokenizer.save_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=POSITIONS + 2, type_vocab_size=1, **_LAYERS
    )
    RobertaForQuestionAnswering(config).save_pretrained(folder)
    return folder
