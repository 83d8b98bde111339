"""The trained part of the BLIP-2 domain router: a linear head, and Q-Former weights where they were tuned.

One safetensors file. Tensors: `weight` (classes, features), `bias` (classes,), `witness` (query tokens,
features) and `tuned.<name>` for each weight of the base model that training changed. The metadata's entry
`loreglass-domain-head` is JSON of version, labels, base_model, feature_size and temperature.
Runs in a bare environment of numpy and safetensors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chassis.models.pretrained import WrongWeights, read_tensors, write_tensors
from services.domain_router.measures import Matrix, softmax

FORMAT, VERSION = "loreglass-domain-head", 1
_TUNED = "tuned."

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DomainHead:
    """`softmax((weight @ feature + bias) / temperature)` are the probabilities of `labels`, in their order.

    `witness`: what the base model made of fixed questions about fixed pictures when this was trained. Who
    gets something else has other weights, another tokenizer or another preprocessing.
    `tuned`: by name in the base model.
    """

    weight: Floats
    bias: Floats
    temperature: float
    labels: tuple[str, ...]
    base_model: str
    witness: Floats
    tuned: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def feature_size(self) -> int:
        """How long a feature is."""
        return int(self.weight.shape[1])

    def probabilities(self, features: NDArray[np.floating]) -> Matrix:
        """(n, classes) of (n, features); each row sums to 1."""
        logits = features.astype(np.float64) @ self.weight.T.astype(np.float64) + self.bias
        return softmax(logits / self.temperature)

    def save(self, path: Path) -> None:
        """Write the checkpoint."""
        tensors = {"weight": self.weight, "bias": self.bias, "witness": self.witness}
        about = {
            "version": VERSION,
            "labels": self.labels,
            "base_model": self.base_model,
            "feature_size": self.feature_size,
            "temperature": self.temperature,
        }
        write_tensors(
            path, FORMAT, about, tensors | {_TUNED + name: values for name, values in self.tuned.items()}
        )

    @classmethod
    def load(cls, path: Path, labels: Sequence[str]) -> Self:
        """A checkpoint that was trained for exactly `labels`, in this order. Raises `WrongWeights`."""
        head = read_tensors(path, FORMAT, VERSION, cls._from_parts)
        if head.labels != tuple(labels):
            raise WrongWeights(
                f"The head {str(path)!r} was trained for other labels: {', '.join(head.labels)}."
            )
        return head

    @classmethod
    def _from_parts(cls, about: Mapping[str, Any], tensors: dict[str, Floats]) -> Self:
        head = cls(
            weight=tensors.pop("weight"),
            bias=tensors.pop("bias"),
            temperature=float(about["temperature"]),
            labels=tuple(about["labels"]),
            base_model=str(about["base_model"]),
            witness=tensors.pop("witness"),
            tuned={name.removeprefix(_TUNED): values for name, values in tensors.items()},
        )
        size = int(about["feature_size"])
        shapes = (head.weight.shape, head.bias.shape, head.witness.shape[1:])
        if shapes != ((len(head.labels), size), (len(head.labels),), (size,)):
            raise ValueError(f"tensors of the shapes {shapes}")
        if not 0.0 < head.temperature < np.inf:
            raise ValueError(f"temperature {head.temperature}")
        return head
