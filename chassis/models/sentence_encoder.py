"""The sentence encoder that came with the platform: all-MiniLM-L6-v2 (its model card), as ONNX on the CPU."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chassis.models.onnx_encoder import OnnxEncoder
from chassis.models.sharing import load_once

WEIGHTS = Path(__file__).with_name("weights") / "sentence_encoder"


class SentenceEncoder:
    """The mean of the tokens' vectors, of unit length; queries and passages alike. Thread-safe."""

    size = 384

    def __init__(self, folder: Path = WEIGHTS) -> None:
        self._encoder = OnnxEncoder(folder)
        self._tokenizer = self._encoder.tokenizer()
        self.card = self._encoder.card
        self._tokenizer.enable_truncation(self.card["max_tokens"])
        self.name: str = self.card["name"]

    def queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector [size] of each text, in order. Raises `Abandoned` if the caller has left."""
        encoded = self._tokenizer.encode_batch(list(texts))
        outputs = self._encoder.run([(tuple(each.ids), tuple(each.type_ids)) for each in encoded])
        return [vector / np.linalg.norm(vector) for (vector,) in outputs]

    passages = queries


@load_once
def shared_sentence_encoder() -> SentenceEncoder:
    """Return the encoder that all engines of a process share."""
    return SentenceEncoder()
