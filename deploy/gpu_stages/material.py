"""Photos, texts and tokenizers to work on. One word is one token, so a length in tokens can be asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

RGB = npt.NDArray[np.uint8]

WORDS = [
    "tower",
    "bridge",
    "harbour",
    "museum",
    "street",
    "market",
    "garden",
    "castle",
    "river",
    "island",
    "engine",
    "wheel",
    "bottle",
    "label",
    "flower",
    "paper",
    "stone",
    "copper",
    "silver",
    "winter",
    "summer",
    "morning",
    "evening",
    "north",
    "south",
    "early",
    "modern",
    "first",
    "second",
    "opened",
    "closed",
    "built",
    "painted",
    "carried",
    "written",
    "is",
    "was",
    "the",
    "a",
    "of",
    "in",
    "on",
    "by",
    "with",
    "and",
]

LABELS = ["tower", "bridge", "bottle", "flower", "wheel", "label"]
QUESTION = "the tower by the river was built in the summer of the second"

_MARKS = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
"""Where BERT's uncased vocabulary has them; Grounding DINO knows them by number."""

_FIRST_WORD = 1030


def photo(height: int, width: int, seed: int = 0) -> RGB:
    """Noise: (height, width, 3)."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def passage(words: int, seed: int = 0) -> str:
    """So many words, none of them chosen twice in a row on purpose."""
    chosen = np.random.default_rng(seed).choice(WORDS, words)
    return " ".join(map(str, chosen))


def bert_tokenizer(folder: Path) -> Any:
    """A `BertTokenizer` that knows the words, saved in `folder`."""
    from transformers import BertTokenizer

    pieces = [_MARKS.get(place, f"[unused{place}]") for place in range(_FIRST_WORD)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join([*pieces, *WORDS]) + "\n", "utf-8")
    tokenizer = BertTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    return tokenizer


def chat_tokenizer() -> Any:
    """Whole words, "yes" and "no", and the marks of a Qwen prompt."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unknown>"]
    pieces = dict.fromkeys([*marks, "yes", "no", *WORDS])
    words = Tokenizer(models.WordLevel({piece: place for place, piece in enumerate(pieces)}, "<unknown>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="<|endoftext|>",
        unk_token="<unknown>",
        additional_special_tokens=marks[1:3],
    )
