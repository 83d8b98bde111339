"""No vocabulary writes more tokens than are reckoned."""

import base64
import os
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.llm.delimiting import UNMERGED, tokens_at_most, within_tokens

FOLDER = os.environ.get("LOREGLASS_TOKENIZERS", "")
NAMES = ("llama", "qwen")

Ranks = Mapping[bytes, int]


def pieces(word: bytes, ranks: Ranks) -> list[bytes]:
    """The tokens of one pre-token: a known one is itself, else neighbours merge, least rank first."""
    if word in ranks:
        return [word]
    parts = [word[place : place + 1] for place in range(len(word))]
    while True:
        merges = [
            (rank, place)
            for place in range(len(parts) - 1)
            if (rank := ranks.get(parts[place] + parts[place + 1])) is not None
        ]
        if not merges:
            return parts
        place = min(merges)[1]
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


LETTERS = string.ascii_lowercase
PAIRS = [
    (first + second).encode()
    for first in " " + LETTERS
    for second in LETTERS
    if not UNMERGED.search(first + second)
]
TEXTS = st.text() | st.text(st.sampled_from("qjz theory AZ'1\n.é字𝅘𝅥𝅮"))
REAL = pytest.mark.skipif(not FOLDER, reason="LOREGLASS_TOKENIZERS names no folder with the vocabularies")
HOSTILE = {
    "random letters": "xqzjv kwbfp zzxq vjqkx " * 40,
    "unmerged pairs": "qjqjqj zqzqzq fjfjfj " * 40,
    "mixed case": "aQzXbJfKqZ " * 60,
    "digits": "90210 3.14159 " * 60,
    "signs": "{}[]<>|~^`\\_=+;:!?#%&*()" * 20,
    "spaces": "a   b\t\tc\n\n\n d" * 50,
    "contractions": "he's 'something they're 'reading I'll 'llama don't " * 20,
    "emoji": "🧑‍🚀🏳️‍🌈👩🏽‍🔬" * 30,
    "musical notes": "\U0001d160\U0001d15e" * 60,
    "composed anew": "\u0958\u0b5c\ufb2c\u1fb7 " * 60,
    "Thai": "ภาษาไทยเป็นภาษาที่มีวรรณยุกต์" * 10,
    "Amharic": "ኢትዮጵያ አዲስ አበባ " * 20,
    "Chinese": "这座桥建于一九二六年夏天" * 20,
    "accents": "Übermäßig naïve façade déjà vu " * 20,
    "surrogates": "a\ud800b",
}


@settings(max_examples=30)
@given(
    st.permutations(PAIRS),
    st.lists(st.text(LETTERS + " ", min_size=3, max_size=8), max_size=40),
    st.text(LETTERS + " ", max_size=60),
)
def test_token_bound_holds_for_any_vocabulary(pairs: list[bytes], longer: list[str], text: str) -> None:
    """Whichever pair it merges first, and whatever longer tokens it has."""
    ranks = {token: rank for rank, token in enumerate([*pairs, *(word.encode() for word in longer)], 256)}
    words = [" " * bool(place) + word for place, word in enumerate(text.split(" "))]
    assert sum(len(pieces(word.encode(), ranks)) for word in words) <= tokens_at_most(text)


@given(TEXTS, st.integers(0, 200))
def test_truncated_text_is_a_prefix_within_its_token_limit(text: str, most: int) -> None:
    cut = within_tokens(text, most)
    assert tokens_at_most(cut) <= most
    assert text.startswith(cut)
    if cut != text:
        assert tokens_at_most(text[: len(cut) + 1]) > most or len(cut) >= 3 * most // 2


def test_plain_english_gets_more_than_a_character_a_token() -> None:
    text = "The bridge was built of stone, and people cross it still. " * 20
    assert len(text) > 1.3 * tokens_at_most(text)


@REAL
@pytest.mark.parametrize("name", NAMES)
def test_token_bound_holds_in_real_vocabularies(name: str) -> None:
    assert [pair for pair in PAIRS if pair not in real(name).ranks] == []
    for kind, hostile in HOSTILE.items():
        text = hostile.encode("utf-8", "replace").decode()
        assert real(name).count(text) <= tokens_at_most(text), kind
