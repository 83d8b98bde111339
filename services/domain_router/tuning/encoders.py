"""The head's features while it is trained: computed once, or by a Q-Former that learns too."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from chassis.models.qformer import QFormer, Question
from services.domain_router.engines.blip2 import pooled
from services.domain_router.tuning.rows import Example, pixels

Tensors = dict[str, NDArray[np.float32]]


class Encoder(Protocol):
    """Pooled features of examples, by their places."""

    parameters: Sequence[Any]
    """What learns besides the head; may be empty."""

    def features(self, places: Sequence[int]) -> Any:
        """A float32 tensor (len(places), hidden), with gradients where something learns."""
        ...

    def learn(self, on: bool) -> None:
        """Switch dropout."""
        ...

    def weights(self) -> Tensors:
        """A copy of what has been learnt, by name in the model."""
        ...

    def restore(self, weights: Tensors) -> None:
        """Go back to an earlier copy."""
        ...


def questions(examples: Iterable[Example]) -> list[Question]:
    """With decoded photos."""
    return [(each.question, None if each.photo is None else pixels(each.photo)) for each in examples]


class FrozenEncoder:
    """The base model as it is: each example goes through it once."""

    parameters: Sequence[Any] = ()

    def __init__(self, qformer: QFormer, examples: Sequence[Example], batch_size: int) -> None:
        starts = tqdm(range(0, len(examples), batch_size), desc="reading questions and photos", unit="batch")
        encoded = [
            pooled(states)
            for start in starts
            for states in qformer.encode_questions(questions(examples[start : start + batch_size]))
        ]
        self._features = torch.from_numpy(np.stack(encoded)).to(qformer.accelerator.device)

    def features(self, places: Sequence[int]) -> Any:
        """Looked up."""
        return self._features[list(places)]

    def learn(self, on: bool) -> None:
        """There is nothing to switch."""

    def weights(self) -> Tensors:
        """Nothing was learnt."""
        return {}

    def restore(self, weights: Tensors) -> None:
        """There is nothing to restore."""


class QFormerEncoder:
    """The Q-Former learns, with its query tokens and its word embeddings; the vision tower does not."""

    def __init__(self, qformer: QFormer, examples: Sequence[Example]) -> None:
        self._qformer, self._examples = qformer, examples
        model = qformer.model
        model.requires_grad_(False)
        self._learning = {"qformer": model.qformer, "embeddings": model.embeddings}
        for part in self._learning.values():
            part.requires_grad_(True)
        model.query_tokens.requires_grad_(True)
        self._named = {name: each for name, each in model.named_parameters() if each.requires_grad}
        self.parameters: Sequence[Any] = list(self._named.values())

    def features(self, places: Sequence[int]) -> Any:
        """Computed anew, since the weights change."""
        pairs = questions(self._examples[place] for place in places)
        return self._qformer.question_states(self._qformer.prepare(pairs)).mean(dim=1)

    def learn(self, on: bool) -> None:
        """Dropout in the parts that learn."""
        for part in self._learning.values():
            part.train(on)

    def weights(self) -> Tensors:
        """All that learns, as float32."""
        return {name: each.detach().cpu().numpy().copy() for name, each in self._named.items()}

    def restore(self, weights: Tensors) -> None:
        """In place."""
        with torch.no_grad():
            for name, values in weights.items():
                self._named[name].copy_(torch.from_numpy(values))
