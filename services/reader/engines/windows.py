"""A question-answering head of transformers, and the windows of question and passage that it reads.

Any `AutoModelForQuestionAnswering` with a fast tokenizer that has a [CLS]: it gives each token two logits,
that the answer starts there and that it ends there; both at [CLS] mean that there is none. Sources: Devlin
et al. 2019 (BERT, section 4.3) and the windows of its run_squad. Runs in a bare torch + transformers
environment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from threading import Lock
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights, load_model, load_part
from chassis.models.windows import Window

DEFAULT_MODEL = "deepset/minilm-uncased-squad2"

Logits = NDArray[np.float32]
"""(2, tokens): that the answer starts, and that it ends, at each token."""

_QUESTION_TOKENS = 64
"""Read of a question, as in run_squad, and no more than half of a window."""


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """`tokens`: of question and passage together, all marks counted; fewer where the model has fewer
    positions. `stride`: tokens that two windows of a passage share, at most half of the passage's part.
    `most`: windows of one question; the heads of all passages come first.

    384 and 128 are what the published models were trained with; 256 windows hold 200,000 characters of prose.
    """

    tokens: int = 384
    stride: int = 128
    most: int = 256


class QuestionAnsweringModel:
    """Tokenizer and weights. Thread-safe; `forward` does not depend on what else is in the batch."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        accelerator: Accelerator,
        name: str,
        limits: WindowLimits | None = None,
    ) -> None:
        """Loaded parts; `model` is on the accelerator, in `eval` mode.

        Raises `WrongWeights` when the tokenizer cannot tell where a token stands or is another model's.
        """
        self._model = model
        self._tokenizer = tokenizer
        self._accelerator = accelerator
        self._limits = limits or WindowLimits()
        self._lock = Lock()  # how texts are cut is a state of the tokenizer
        self.name = name
        if not tokenizer.is_fast or tokenizer.cls_token_id is None or tokenizer.pad_token_id is None:
            raise WrongWeights(f"{name!r} needs a fast tokenizer with a [CLS] and padding.")
        if len(tokenizer) > model.config.vocab_size:
            raise WrongWeights(
                f"{name!r}: the tokenizer has {len(tokenizer)} tokens, the model {model.config.vocab_size}."
            )
        positions = getattr(model.config, "max_position_embeddings", self._limits.tokens)
        self._tokens = min(self._limits.tokens, tokenizer.model_max_length, positions)

    @classmethod
    def from_pretrained(
        cls, source: str, accelerator: Accelerator, limits: WindowLimits | None = None
    ) -> Self:
        """The model in a local folder or of a hub id. Raises `WrongWeights`."""
        model = load_model(AutoModelForQuestionAnswering, source, accelerator)
        return cls(model, load_part(AutoTokenizer, source), accelerator, PurePath(source).name, limits)

    def windows(self, question: str, passages: Sequence[str]) -> list[Window]:
        """The passages' windows, the first of each passage before the second of any."""
        if not passages:
            return []
        with self._lock:
            encoded = self._encode(question, passages)
        passage_of = encoded["overflow_to_sample_mapping"]
        first: dict[int, int] = {}
        for row, passage in enumerate(passage_of):
            first.setdefault(passage, row)
        order = sorted(range(len(passage_of)), key=lambda row: (row - first[passage_of[row]], row))
        return [self._window(encoded, row) for row in order[: self._limits.most]]

    def _encode(self, question: str, passages: Sequence[str]) -> Any:
        head = self._head(question)
        length = len(self._tokenizer(head, add_special_tokens=False, split_special_tokens=True)["input_ids"])
        room = self._tokens - length - self._tokenizer.num_special_tokens_to_add(pair=True)
        return self._tokenizer(
            [head] * len(passages),
            list(passages),
            truncation="only_second",
            max_length=self._tokens,
            stride=min(self._limits.stride, room // 2),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            split_special_tokens=True,  # a "[SEP]" or "</s>" in a page is text, not a mark
        )

    def _head(self, question: str) -> str:
        """As much of the question as may stand in a window."""
        places = self._tokenizer(
            question,
            add_special_tokens=False,
            truncation=True,
            max_length=min(_QUESTION_TOKENS, self._tokens // 2),
            return_offsets_mapping=True,
            split_special_tokens=True,
        )["offset_mapping"]
        return question[: places[-1][1]] if places else ""

    def _window(self, encoded: Any, row: int) -> Window:
        inside = np.array([part == 1 for part in encoded.sequence_ids(row)])
        offsets = np.array(encoded["offset_mapping"][row], dtype=np.int64)
        ids = tuple(encoded["input_ids"][row])
        kinds = tuple(encoded["token_type_ids"][row]) if "token_type_ids" in encoded else ()
        null = ids.index(self._tokenizer.cls_token_id)
        passage = encoded["overflow_to_sample_mapping"][row]
        return Window(passage, ids, kinds, np.where(inside[:, None], offsets, -1), null)

    def forward(self, windows: Sequence[Window]) -> list[Logits]:
        """The logits of each window's own tokens, in one pass."""
        if not windows:
            return []
        inputs = {
            "input_ids": self._pad([window.ids for window in windows], self._tokenizer.pad_token_id),
            "attention_mask": self._pad([(1,) * len(window.ids) for window in windows], 0),
        }
        if windows[0].kinds:
            inputs["token_type_ids"] = self._pad([window.kinds for window in windows], 0)
        with torch.inference_mode():
            output = self._model(**inputs)
            both = torch.stack([output.start_logits, output.end_logits], dim=1)
        logits = self._accelerator.to_numpy(both)
        return [logits[row, :, : len(window.ids)] for row, window in enumerate(windows)]

    def _pad(self, rows: Sequence[tuple[int, ...]], filling: int) -> Any:
        longest = max(map(len, rows))
        filled = [[*row, *[filling] * (longest - len(row))] for row in rows]
        return torch.tensor(filled, device=self._accelerator.device)
