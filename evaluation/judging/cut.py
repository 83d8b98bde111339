"""The cut before anything is judged: CRAG-MM looks at the first 75 tokens of an answer.

Both published kits cut with the `tokenizer.json` of meta-llama/Llama-3.2-1B-Instruct, which is gated: who
has it names it. Its begin-of-text token is one of the 75, so 74 are left for the answer; so it is here, since
the file itself adds it. Without the file, words are cut by `text.truncate`, which is close but not the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evaluation.judging.text import MAX_ANSWER_TOKENS, truncate


class Cut(Protocol):
    """Cuts an answer to its length."""

    @property
    def name(self) -> str:
        """How reports name it."""
        ...

    def __call__(self, answer: str) -> str:
        """What is judged of the answer."""
        ...


class TokenizerError(Exception):
    """There is no tokenizer there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ApproximateCut:
    """By pieces of words; nothing to install and no file."""

    name: str = f"approximation, {MAX_ANSWER_TOKENS} tokens"

    def __call__(self, answer: str) -> str:
        """An answer of no more characters than tokens is whole."""
        return answer if len(answer) <= MAX_ANSWER_TOKENS else truncate(answer)


APPROXIMATE = ApproximateCut()


class TokenizerCut:
    """As the kits do it: encoded, cut with its special tokens counted, decoded without them."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_length=MAX_ANSWER_TOKENS)
        self._name = name

    @property
    def name(self) -> str:
        """The file's, with its folder's, which is the model's by custom."""
        return self._name

    def __call__(self, answer: str) -> str:
        """Short answers go the same way, since decoding also drops special tokens that stand in them."""
        return str(self._tokenizer.decode(self._tokenizer.encode(answer).ids))


def open_cut(tokenizer: Path | None) -> Cut:
    """The cut by that `tokenizer.json`, or by that folder's; without one, the approximation.

    Raises `TokenizerError`.
    """
    if tokenizer is None:
        return APPROXIMATE
    path = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer
    if not path.is_file():
        raise TokenizerError(f"{path} is not there; it should be the tokenizer.json of a model")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise TokenizerError("cutting by a tokenizer needs: pip install tokenizers") from error
    try:
        loaded = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises no narrower class
        raise TokenizerError(f"{path} is not a tokenizer's file: {error}") from error
    return TokenizerCut(loaded, f"{path.parent.name}/{path.name}, {MAX_ANSWER_TOKENS} tokens")
