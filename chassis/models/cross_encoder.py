"""The project's cross-encoder: a question beside a passage, and where the passage answers it.

BERT with six layers (MiniLM, Wang et al., 2020) and two heads, which `training/reader` fits. The reader, the
reranker and the verifier share one model in a process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from chassis.models.onnx_encoder import OnnxEncoder
from chassis.models.sharing import load_once
from chassis.models.windows import Window

WEIGHTS = Path(__file__).with_name("weights") / "cross_encoder"

_QUESTION_TOKENS = 64
_STRIDE_TOKENS = 64
_CACHE_SIZE = 256
"""Readings of about 10 kB each."""


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """`spans`: [2, tokens], logits that the answer starts and ends at a token; at token 0 that there is none.

    `answers`: log odds that the window answers the question.
    """

    spans: NDArray[np.float32]
    answers: float


class CrossEncoder:
    """Tokenizer and weights. Thread-safe; a reading does not depend on what else is read with it."""

    def __init__(self, folder: Path) -> None:
        """Load a folder that `training.reader.export` wrote."""
        self._encoder = OnnxEncoder(folder)
        self.card = self._encoder.card
        self.name: str = self.card["name"]
        self._cache: dict[tuple[int, ...], Reading] = {}
        self._lock = Lock()
        self._plain, self._pairs = self._encoder.tokenizer(), self._encoder.tokenizer()
        self._pairs.enable_truncation(self.card["max_tokens"], stride=_STRIDE_TOKENS, strategy="only_second")

    def windows(self, question: str, passages: Sequence[str], most: int = 64) -> list[Window]:
        """Return the windows of the passages, `most` in all: the heads of all passages come first."""
        head = self._head(question)
        encoded = [self._pairs.encode(head, passage) for passage in passages]
        parts = [[each, *each.overflowing] for each in encoded]
        ordered = sorted(
            (place, passage) for passage, windows in enumerate(parts) for place in range(len(windows))
        )
        return [_window(passage, parts[passage][place]) for place, passage in ordered[:most]]

    def _head(self, question: str) -> str:
        """Return as much of the question as may stand in a window."""
        offsets = self._plain.encode(question, add_special_tokens=False).offsets
        return question if len(offsets) <= _QUESTION_TOKENS else question[: offsets[_QUESTION_TOKENS - 1][1]]

    def read(self, windows: Sequence[Window]) -> list[Reading]:
        """Return a reading of each window, in order. Raises `Abandoned` when nobody waits for them.

        The latest readings are cached: reranker, reader and verifier read the same passages.
        """
        with self._lock:
            readings = {
                window.ids: self._cache[window.ids] for window in windows if window.ids in self._cache
            }
        new = {window.ids: window.kinds for window in windows if window.ids not in readings}
        outputs = self._encoder.run(list(new.items()))
        for ids, (spans, answers) in zip(new, outputs, strict=True):
            readings[ids] = Reading(spans[: len(ids)].T, float(answers))
        with self._lock:
            self._cache |= readings
            for oldest in list(self._cache)[: max(0, len(self._cache) - _CACHE_SIZE)]:
                del self._cache[oldest]
        return [readings[window.ids] for window in windows]


@load_once
def shared_cross_encoder() -> CrossEncoder:
    """Return the model that all engines of a process share."""
    return CrossEncoder(WEIGHTS)


def _window(passage: int, encoded: Encoding) -> Window:
    inside = np.array([part == 1 for part in encoded.sequence_ids])
    offsets = np.where(inside[:, None], np.array(encoded.offsets, np.int64), -1)
    return Window(passage, tuple(encoded.ids), tuple(encoded.type_ids), offsets)
