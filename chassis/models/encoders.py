"""The small encoders that come with the platform, as ONNX on the CPU. A process has one of each.

`CrossEncoder`: a question beside a passage, and where the passage answers it. MiniLM with six layers (Wang et
al., 2020) and three heads, which `training/reader` fits; for reader, reranker and verifier.
`SentenceEncoder`: all-MiniLM-L6-v2 (its model card), for searches and the domain router.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from onnxruntime import InferenceSession, RunOptions, SessionOptions
from tokenizers import Encoding, Tokenizer

from chassis.models.cancellation import until_cancelled
from chassis.models.windows import SentenceAnswer, Window

CROSS_ENCODER = Path(__file__).with_name("weights") / "cross_encoder"
SENTENCE_ENCODER = Path(__file__).with_name("weights") / "sentence_encoder"

Model = TypeVar("Model")
Tokens = Mapping[str, Sequence[int]]
"""Inputs of the model by name, of one length, without "mask"; an input that is missing is all zeros."""

_THREADS = 2
_BATCH_TOKENS = 512
"""Tokens of a pass, with padding. Limits its memory, and the time until a cancelled call stops."""
_QUESTION_TOKENS = 64
_STRIDE_TOKENS = 64
_MOST_WINDOWS = 64
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

    def windows(self, question: str, passages: Sequence[str]) -> list[Window]:
        """Return the windows of the passages, 64 in all: the heads of all passages come first."""
        head = self._head(question)
        encoded = [self._pairs.encode(head, passage) for passage in passages]
        parts = [[each, *each.overflowing] for each in encoded]
        ordered = sorted(
            (place, passage) for passage, windows in enumerate(parts) for place in range(len(windows))
        )
        return [_window(passage, parts[passage][place]) for place, passage in ordered[:_MOST_WINDOWS]]

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
        items = [{"ids": ids, "types": kinds} for ids, kinds in new.items()]
        every = list(new)
        for place, (spans, answers) in self._encoder.run_batches(items, ("spans", "answers")):
            ids = every[place]
            readings[ids] = Reading(spans[: len(ids)].T, float(answers))
            with self._lock:  # after each batch: a cancelled call's work is not lost
                self._cache[ids] = readings[ids]
                for oldest in list(self._cache)[: len(self._cache) - _CACHE_SIZE]:
                    del self._cache[oldest]
        return [readings[window.ids] for window in windows]

    def read_clauses(
        self, question: str, answers: Sequence[SentenceAnswer]
    ) -> list[tuple[Window, NDArray[np.float32]]]:
        """Return, for each sentence, its tokens and what the third head gives for them, [tokens, 66].

        See `training.reader.clauses.ClauseHead`. Of a long sentence, the first window.
        """
        head = self._head(question)
        windows = [
            _window(place, self._pairs.encode(head, each.sentence)) for place, each in enumerate(answers)
        ]
        items = [
            {"ids": window.ids, "types": window.kinds, "marks": _marks(window, each)}
            for window, each in zip(windows, answers, strict=True)
        ]
        outputs = self._encoder.run(items, ("clauses",))
        return [
            (window, values[: len(window.ids)]) for window, (values,) in zip(windows, outputs, strict=True)
        ]


def _marks(window: Window, answer: SentenceAnswer) -> list[int]:
    """Return 1 for the tokens of the answer, else 0."""
    return [int(start < answer.end and end > answer.start) for start, end in window.offsets.tolist()]


def _window(passage: int, encoded: Encoding) -> Window:
    inside = np.array([part == 1 for part in encoded.sequence_ids])
    offsets = np.where(inside[:, None], np.array(encoded.offsets, np.int64), -1)
    return Window(passage, tuple(encoded.ids), tuple(encoded.type_ids), offsets)


class SentenceEncoder:
    """The mean of the tokens' vectors, of unit length; queries and passages alike. Thread-safe."""

    size = 384

    def __init__(self, folder: Path = SENTENCE_ENCODER) -> None:
        self._encoder = OnnxEncoder(folder)
        self._tokenizer = self._encoder.tokenizer()
        self.card = self._encoder.card
        self._tokenizer.enable_truncation(self.card["max_tokens"])
        self.name: str = self.card["name"]

    def queries(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return a vector [size] of each text, in order. Raises `Abandoned` if the caller has left."""
        encoded = self._tokenizer.encode_batch(list(texts))
        outputs = self._encoder.run([{"ids": each.ids, "types": each.type_ids} for each in encoded])
        return [vector / np.linalg.norm(vector) for (vector,) in outputs]

    passages = queries


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
        self._options = RunOptions()
        self._options.only_execute_path_to_fetches = True

    def tokenizer(self) -> Tokenizer:
        """Return a tokenizer that neither pads nor cuts; a "[SEP]" in a text is text, not a mark."""
        loaded = Tokenizer.from_file(self._tokenizer)
        loaded.no_padding()
        loaded.no_truncation()
        loaded.encode_special_tokens = True
        return loaded

    def run(
        self, items: Sequence[Tokens], names: Sequence[str] | None = None
    ) -> list[tuple[NDArray[np.float32], ...]]:
        """Return the outputs of each item, all or the named. Raises `Abandoned` if the caller has left."""
        outputs = dict(self.run_batches(items, names))
        return [outputs[place] for place in range(len(items))]

    def run_batches(
        self, items: Sequence[Tokens], names: Sequence[str] | None = None
    ) -> Iterator[tuple[int, tuple[NDArray[np.float32], ...]]]:
        """Yield the place of each item with its outputs, as batches are done. Raises `Abandoned`."""
        for batch in until_cancelled(_batches([len(each["ids"]) for each in items])):
            yield from zip(batch, self._pass([items[place] for place in batch], names), strict=True)

    def _pass(
        self, items: Sequence[Tokens], names: Sequence[str] | None
    ) -> Iterator[tuple[NDArray[np.float32], ...]]:
        shape = len(items), max(len(each["ids"]) for each in items)
        inputs: Any = {each.name: np.zeros(shape, np.int64) for each in self._session.get_inputs()}
        for row, tokens in enumerate(items):
            for name, values in tokens.items():
                inputs[name][row, : len(values)] = values
            inputs["mask"][row, : len(tokens["ids"])] = 1
        return zip(*self._session.run(names, inputs, self._options), strict=True)


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


def load_once(load: Callable[[], Model]) -> Callable[[], Model]:
    """Decorate a loader: the first call loads the model, other calls wait and return the same one.

    `functools.cache` alone would load again in each thread that calls before the first load ends, and the
    services of a process start side by side.
    """
    cached, lock = cache(load), Lock()

    @wraps(load)
    def shared() -> Model:
        with lock:
            return cached()

    return shared


@load_once
def shared_cross_encoder() -> CrossEncoder:
    """Return the model that all engines of a process share."""
    return CrossEncoder(CROSS_ENCODER)


@load_once
def shared_sentence_encoder() -> SentenceEncoder:
    """Return the encoder that all engines of a process share."""
    return SentenceEncoder()
