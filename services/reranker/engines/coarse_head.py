"""Vectors of a question and its photo for the coarse stage: BLIP-2's own, or by a trained head.

BLIP-2's projections fit query tokens that see the photo alone. Query tokens that see the question too
(QA-Dragon, equation 2) come into the texts' space by a head of `loreglass train head coarse-reranker`:
one safetensors file with `weight` (d, hidden), `bias` (d,) and `witness`; the metadata's entry
`loreglass-coarse-head` is JSON of version, base_model and threshold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from chassis.accelerator import Accelerator
from chassis.models.pretrained import Tensors, WrongWeights, read_tensors, write_tensors
from chassis.models.qformer import DEFAULT_MODEL, QFormer, require_witness
from services.reranker.engines.cascade import Asked, Vectors

FORMAT, VERSION = "loreglass-coarse-head", 1


@dataclass(frozen=True, slots=True)
class CoarseHead:
    """`weight @ state + bias`, brought to length 1, is comparable with `text_vectors`.

    `threshold`: tau_coarse, the cosine that nearly all answering texts of the validation part reach.
    """

    weight: Vectors
    bias: Vectors
    threshold: float
    base_model: str
    witness: Vectors

    def vectors(self, states: Vectors) -> Vectors:
        """(N_q, d) of a question's query tokens (N_q, hidden)."""
        projected = states @ self.weight.T + self.bias
        return np.asarray(projected / np.linalg.norm(projected, axis=-1, keepdims=True), np.float32)

    def save(self, path: Path) -> None:
        """Write the checkpoint."""
        about = {"version": VERSION, "base_model": self.base_model, "threshold": self.threshold}
        tensors = {"weight": self.weight, "bias": self.bias, "witness": self.witness}
        write_tensors(path, FORMAT, about, tensors)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Raises `WrongWeights`."""
        return read_tensors(path, FORMAT, VERSION, cls._from_parts)

    @classmethod
    def _from_parts(cls, about: Mapping[str, Any], tensors: Tensors) -> Self:
        head = cls(
            weight=tensors["weight"],
            bias=tensors["bias"],
            threshold=float(about["threshold"]),
            base_model=str(about["base_model"]),
            witness=tensors["witness"],
        )
        if head.weight.ndim != 2 or head.bias.shape != head.weight.shape[:1]:
            raise ValueError(f"tensors of the shapes {head.weight.shape} and {head.bias.shape}")
        if not 0.0 <= head.threshold < 1.0:
            raise ValueError(f"threshold {head.threshold}")
        return head


def load_coarse(model: str, head: str, accelerator: Accelerator) -> tuple[QFormer, CoarseHead | None]:
    """The towers and the head in the file `head`, if one is named, proven to belong together.

    An empty `model` is the head's own, or BLIP-2's. Raises `WrongWeights`.
    """
    if not head:
        return QFormer.from_pretrained(model or DEFAULT_MODEL, accelerator), None
    trained = CoarseHead.load(Path(head))
    qformer = QFormer.from_pretrained(model or trained.base_model, accelerator)
    if trained.weight.shape != (qformer.vector_size, qformer.hidden_size):
        raise WrongWeights(
            f"The coarse head is of the shape {trained.weight.shape}, the Q-Former's is"
            f" {(qformer.vector_size, qformer.hidden_size)}."
        )
    require_witness(qformer, trained.witness, "coarse head")
    return qformer, trained


def question_vectors(
    qformer: QFormer, head: CoarseHead | None
) -> Callable[[Sequence[Asked]], Sequence[Vectors]]:
    """Unit vectors (N_q, d) of each question with its photo: of the photo alone where there is no head."""
    if head is None:
        return lambda questions: qformer.photo_vectors([photo for _, photo in questions])
    return lambda questions: [head.vectors(states) for states in qformer.encode_questions(questions)]
