"""A small BERT as ONNX on the CPU: its tokenizer and its forward passes, bounded in memory."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession, SessionOptions
from tokenizers import Tokenizer

from chassis.models.cancellation import until_cancelled

Tokens = tuple[tuple[int, ...], tuple[int, ...]]
"""Ids and token type ids, of one length."""

_THREADS = 2
_BATCH_TOKENS = 4_096
"""With padding; bounds the memory of a pass."""


class OnnxEncoder:
    """`model.onnx`, `tokenizer.json` and `model.json` of a folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.card = json.loads((folder / "model.json").read_text("utf-8"))
        self._tokenizer = str(folder / "tokenizer.json")
        options = SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads, options.inter_op_num_threads = _THREADS, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other calls run beside
        # The weights are int8 on disk only: taken apart once, not at each pass.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        options.enable_cpu_mem_arena = False  # it would keep what the largest batch needed
        self._session = InferenceSession(folder / "model.onnx", options, ["CPUExecutionProvider"])

    def tokenizer(self) -> Tokenizer:
        """Return a tokenizer that neither pads nor cuts; a "[SEP]" in a text is text, not a mark."""
        loaded = Tokenizer.from_file(self._tokenizer)
        loaded.no_padding()
        loaded.no_truncation()
        loaded.encode_special_tokens = True
        return loaded

    def run(self, items: Sequence[Tokens]) -> list[tuple[NDArray[np.float32], ...]]:
        """Return the outputs of each item, in order. Raises `Abandoned` if the caller has left."""
        outputs: dict[int, tuple[NDArray[np.float32], ...]] = {}
        for batch in until_cancelled(_batches([len(ids) for ids, _ in items])):
            outputs |= zip(batch, self._pass([items[place] for place in batch]), strict=True)
        return [outputs[place] for place in range(len(items))]

    def _pass(self, items: Sequence[Tokens]) -> Iterator[tuple[NDArray[np.float32], ...]]:
        inputs = np.zeros((3, len(items), max(len(ids) for ids, _ in items)), np.int64)
        for row, (ids, types) in enumerate(items):
            inputs[0, row, : len(ids)], inputs[1, row, : len(ids)], inputs[2, row, : len(ids)] = ids, types, 1
        named: Any = {"ids": inputs[0], "types": inputs[1], "mask": inputs[2]}
        return zip(*self._session.run(None, named), strict=True)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of items of like length, so that little of a batch is padding."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and lengths[place] * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
