"""Byte-level BPE over a table of ranks, as Llama 3's and Qwen's tokenizers apply it.

The tables themselves are not ours: LOREGLASS_TOKENIZERS names a folder with `llama.tiktoken` and
`qwen.tiktoken`, lines of a token in base64 and its rank (`tokenizer.model` of the PyPI package llama-models,
`qwen.tiktoken` of dashscope).
"""

import base64
import os
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = os.environ.get("LOREGLASS_TOKENIZERS", "")
NAMES = ("llama", "qwen")

Ranks = Mapping[bytes, int]


def pieces(word: bytes, ranks: Ranks) -> list[bytes]:
    """The tokens of one pre-token: a known one is itself, else neighbours merge, least rank first."""
    if word in ranks:
        return [word]
    parts = [word[place : place + 1] for place in range(len(word))]
    while True:
        known = [
            (rank, place)
            for place in range(len(parts) - 1)
            if (rank := ranks.get(parts[place] + parts[place + 1])) is not None
        ]
        if not known:
            return parts
        place = min(known)[1]
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """One of the real ones. `normalised`: it composes characters first (NFC)."""

    ranks: Ranks
    pattern: Any
    normalised: bool

    def count(self, text: str) -> int:
        """Tokens of a text without special ones."""
        text = unicodedata.normalize("NFC", text) if self.normalised else text
        words = Counter(self.pattern.findall(text))
        return sum(times * len(pieces(word.encode(), self.ranks)) for word, times in words.items())


@lru_cache
def real(name: str) -> Tokenizer:
    """`llama` or `qwen`, from the folder."""
    import regex

    lines = (Path(FOLDER) / f"{name}.tiktoken").read_bytes().split(b"\n")
    ranks = {
        base64.b64decode(token): int(rank)
        for token, _, rank in (line.partition(b" ") for line in lines if line)
    }
    digits = r"\p{N}{1,3}" if name == "llama" else r"\p{N}"
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    return Tokenizer(ranks, regex.compile(pattern), normalised=name == "qwen")
