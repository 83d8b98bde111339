"""Features of the domain router's head: computed once, or by a Q-Former that learns too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from chassis.models.qformer import QFormer, Question
from evaluation.data.progress import bar
from services.domain_router.engine import IMAGE_SIDE
from services.domain_router.engines.blip2 import pooled
from training.heads.parts import pixels

Asked = tuple[str, Path | None]
"""A question and the path of its photo."""


def questions(pairs: Sequence[Asked]) -> list[Question]:
    """Decode the photos. Raises `WrongConfig`."""
    return [(question, None if photo is None else pixels(photo, IMAGE_SIDE)) for question, photo in pairs]


class Encoder:
    """Computes pooled features of examples, by their places.

    `tuned`: the Q-Former learns, with its query tokens and its word embeddings; the vision tower does not.
    Else each example goes through the base model once. `parameters`: what learns besides the head, by name in
    the model; may be empty.
    """

    def __init__(self, qformer: QFormer, pairs: Sequence[Asked], batch_size: int, *, tuned: bool) -> None:
        self._qformer, self._asked = qformer, pairs
        self._learning: list[Any] = []
        self.parameters: dict[str, Any] = {}
        self._features: Any = None
        if tuned:
            self._let_learn(qformer.model)
        else:
            encoded = [
                pooled(states)
                for start in bar(range(0, len(pairs), batch_size), "reading questions and photos")
                for states in qformer.encode_questions(questions(pairs[start : start + batch_size]))
            ]
            self._features = torch.from_numpy(np.stack(encoded)).to(qformer.accelerator.device)

    def _let_learn(self, model: Any) -> None:
        model.requires_grad_(False)
        self._learning = [model.qformer, model.embeddings]
        for part in (*self._learning, model.query_tokens):
            part.requires_grad_(True)
        self.parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}

    def features(self, places: Sequence[int]) -> Any:
        """Return float32 features (len(places), hidden), with gradients if the Q-Former learns."""
        if self._features is not None:
            return self._features[list(places)]
        pairs = questions([self._asked[place] for place in places])
        return self._qformer.question_states(self._qformer.prepare(pairs)).mean(dim=1)

    def learn(self, on: bool) -> None:
        """Switch dropout in the parts that learn."""
        for part in self._learning:
            part.train(on)
