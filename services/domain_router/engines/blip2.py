"""The domain by BLIP-2 (QA-Dragon, 3.1.1): question and photo read together, then a linear head.

The feature is the mean of the Q-Former's query tokens for (question, photo). BLIP-2's own image-text
matching reads them so: a linear map of each token, averaged over the tokens (Li et al. 2023, section 3.1),
which is the same as a linear map of the mean. A head on the mean can therefore start from what
pre-training put there; a single token's place has no such meaning.

A checkpoint is one safetensors file. Tensors: `weight` (classes, features), `bias` (classes,), `witness`
(query tokens, features) and `tuned.<name>` for each weight of the base model that training changed. The
metadata's entry `loreglass-domain-head` is JSON of version, labels, base_model, feature_size and temperature.
Runs in a bare torch + transformers environment.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights, read_tensors, write_tensors
from chassis.models.qformer import QFormer, Question, Vectors, require_witness
from chassis.rgb import RGB
from services.domain_router.engine import DomainRouter
from services.domain_router.measures import Matrix, softmax

FORMAT, VERSION = "loreglass-domain-head", 1
_TUNED = "tuned."

Floats = NDArray[np.float32]
Forward = Callable[[Sequence[Question]], Sequence[Vectors]]
"""Per question and photo the query tokens, (N_q, hidden): `QFormer.encode_questions`, alone or batched."""


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
        """Dimensions of a feature."""
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


class Blip2DomainRouter(DomainRouter):
    """Does not read the recognised text: CRAG-MM's rows, on which the head is trained, have none."""

    name = "blip2-linear"

    def __init__(self, forward: Forward, head: DomainHead) -> None:
        self._forward = forward
        self._head = head

    def classify(self, question: str, recognized_text: str, image: RGB | None) -> list[float]:
        """Probabilities in the order of the head's labels; they sum to 1."""
        (states,) = self._forward([(question, image)])
        (probabilities,) = self._head.probabilities(pooled(states)[None])
        return [float(each) for each in probabilities]


def pooled(states: Vectors) -> Vectors:
    """(features,) of the query tokens (N_q, features)."""
    mean: Vectors = states.mean(axis=0)
    return mean


def load_blip2(
    head_path: Path, labels: Sequence[str], model: str, accelerator: Accelerator
) -> tuple[QFormer, DomainHead]:
    """Head and base model, proven to belong together; an empty `model` is the head's own.

    Raises `WrongWeights`.
    """
    head = DomainHead.load(head_path, labels)
    qformer = QFormer.from_pretrained(model or head.base_model, accelerator)
    if qformer.hidden_size != head.feature_size:
        raise WrongWeights(
            f"The domain head reads {head.feature_size} features, the Q-Former gives {qformer.hidden_size}."
        )
    put_back(qformer, head)
    require_witness(qformer, head.witness, "domain head")
    return qformer, head


def put_back(qformer: QFormer, head: DomainHead) -> None:
    """Replace the base model's weights by those that were tuned with the head. Raises `WrongWeights`."""
    import torch

    weights = qformer.model.state_dict()
    for name, values in head.tuned.items():
        if name not in weights or tuple(weights[name].shape) != values.shape:
            raise WrongWeights(f"The domain head tuned {name!r}, which the base model does not have.")
        weights[name].copy_(torch.from_numpy(np.array(values)))
