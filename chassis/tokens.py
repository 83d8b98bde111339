"""Counts of tokens, estimated from above without a tokenizer."""

import re

_PIECE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\w+|[^\w\s]")
_LETTERS_PER_TOKEN = 6


def count_tokens(text: str) -> int:
    """Return the number of tokens.

    A word is one token per six letters begun; a punctuation mark and a Han or kana character are one each.
    """
    return sum(map(_tokens_of, _PIECE.findall(text)))


def shorten(text: str, max_tokens: int) -> str:
    """Return as much of the text as surely fits a model's limit, with [CLS] and [SEP]."""
    left = max_tokens - 2
    for piece in _PIECE.finditer(text):
        left -= _tokens_of(piece.group())
        if left < 0:
            return text[: piece.start()]
    return text


def _tokens_of(piece: str) -> int:
    return -(-len(piece) // _LETTERS_PER_TOKEN)
