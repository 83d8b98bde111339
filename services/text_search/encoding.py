"""Sentences to vectors: what the hybrid engine needs from a model, wherever the model runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Of unit length, [size]."""

TokenIds = tuple[int, ...]
Forward = Callable[[Sequence[TokenIds]], Sequence[Vector]]
"""A forward pass of the model over tokenised texts; one that is shared with other callers fits as well."""

BGE_QUERY_INSTRUCTION = "Represent this sentence for searching relevant passages: "
"""What the model card of bge-*-en-v1.5 puts before a query; passages stand as they are."""


class Pooling(StrEnum):
    """How a sentence's vector is made of its tokens' vectors."""

    CLS = "cls"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Instructions:
    """What is put before a text, as the model was trained with."""

    query: str = BGE_QUERY_INSTRUCTION
    passage: str = ""

    def name_of(self, encoder: str) -> str:
        """Return the encoder's name with its use; instructions of queries change no index."""
        return f"{encoder}, after {self.passage!r}" if self.passage else encoder


BGE_INSTRUCTIONS = Instructions()
SEEING_INSTRUCTIONS = Instructions(
    "Find the page that answers the question about the photo.", "Represent the user's input."
)
"""Of Qwen3-VL-Embedding: its card wants the task for queries; it was trained with the other one."""


class TextEncoder(Protocol):
    """Implementations are synchronous, blocking and thread-safe."""

    @property
    def name(self) -> str:
        """The model and how it is used; vectors of encoders with other names do not compare."""
        ...

    @property
    def size(self) -> int:
        """How many numbers a vector has."""
        ...

    def queries(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each question, in order."""
        ...

    def passages(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each passage, in order."""
        ...


def model_name(source: str) -> str:
    """`bge-large-en-v1.5` for the hub id and for a local folder alike, so that they are one model."""
    return source.rstrip("/").rsplit("/", 1)[-1]
