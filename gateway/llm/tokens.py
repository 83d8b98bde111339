"""An upper bound on the tokens of a text, and a text cut to one, without any model's vocabulary.

Byte-level BPE (Llama 3, Qwen 2.5 and 3) never writes more tokens than bytes. Small letters cost less: it
merges neighbours as long as they make a token, and nearly every pair of small letters, and a space with any
of them, is one in these vocabularies. So no two single ones stay neighbours, and a run of n takes
(2n + 1) // 3 tokens at most. `UNMERGED` are the other pairs. Tests hold both against the vocabularies.
"""

import re
import unicodedata
from bisect import bisect_right

_RUN = re.compile(r" ?[a-z]+")
UNMERGED = re.compile(
    "b(?=q)|f(?=[jz])|g(?=[jkq])|h(?=j)|j(?=[gvwxyz])|k(?=[qxz])|l(?=q)|m(?=z)|n(?=q)|o(?=q)|q(?=[fgjkoyz])"
    "|r(?=j)|t(?=[jq])|u(?=q)|v(?=[qz])|w(?=[qvz])|x(?=[ghjkquvw])|y(?=[fjqv])|z(?=[gjqrv])"
)
OURS_A_TOKEN = 3
"""Characters of our own prompts, which are plain English, to a token, at least; tests count them."""


def tokens_at_most(text: str) -> int:
    """So many tokens or fewer. Normalised first where that makes it longer: Qwen reads it so (NFC)."""
    size = len(text.encode("utf-8", "replace"))
    if not text.isascii():
        size = max(size, len(unicodedata.normalize("NFC", text).encode("utf-8", "replace")))
    runs = (len(run) for run in _RUN.findall(text) if not UNMERGED.search(run))
    return size - sum(length - (2 * length + 1) // 3 for length in runs)


def within_tokens(text: str, most: int) -> str:
    """As much of its beginning as is that many tokens or fewer."""
    if tokens_at_most(text) <= most:
        return text
    places = range(1, min(len(text), 3 * max(most, 0) // 2 + 2) + 1)
    return text[: bisect_right(places, most, key=lambda end: tokens_at_most(text[:end]))]


def ours(*texts: str) -> int:
    """The tokens of words that we wrote, at most."""
    return -(-sum(map(len, texts)) // OURS_A_TOKEN)
