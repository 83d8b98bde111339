"""Tokenizers for tiny models. The models themselves are built from configs, one file a family."""

import re
import string
from pathlib import Path
from typing import Any

from tests.training.tiny_models import byte_pairs

_SENTENCES = [
    f"The red tower {number} was built by Ada in 19{number % 100:02d}; is it a book or a dog? yes or no."
    for number in range(400)
]


def wordpiece(folder: Path) -> Any:
    """A lower-casing BertTokenizer saved in `folder`: whole words of the sentences, else characters.

    Written out and not trained: training breaks ties differently from run to run.
    """
    from transformers import BertTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    characters = sorted(set(string.ascii_lowercase + string.digits + string.punctuation))
    words = sorted({word for sentence in _SENTENCES for word in re.findall(r"[a-z]{2,}", sentence.lower())})
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*specials, *characters, *(f"##{each}" for each in characters), *words]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    tokenizer = BertTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = 512
    tokenizer.save_pretrained(folder)
    return tokenizer


def byte_bpe(specials: list[str], size: int = 600) -> Any:
    """A byte-level BPE tokenizer of about `size` pieces that knows `specials`, first ids first."""
    return byte_pairs(specials, _SENTENCES, size)
