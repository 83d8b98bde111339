"""The domain by BLIP-2 (QA-Dragon, 3.1.1): question and photo read together, then a linear head.

The feature is the mean of the Q-Former's query tokens for (question, photo). BLIP-2's own image-text
matching reads them so: a linear map of each token, averaged over the tokens (Li et al. 2023, section 3.1),
which is the same as a linear map of the mean. A head on the mean can therefore start from what
pre-training put there; a single token's place has no such meaning.
Runs in a bare torch + transformers environment.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights
from chassis.models.qformer import QFormer, Question, Vectors
from services.domain_router.engine import RGB
from services.domain_router.engines.domain_head import DomainHead

Forward = Callable[[Sequence[Question]], Sequence[Vectors]]
"""Per question and photo the query tokens, (N_q, hidden): `QFormer.encode_questions`, alone or batched."""

_SAME_DIRECTION = 0.85  # cosine: tiny models give above 0.99 in bfloat16, below 0.3 with other weights


class Blip2DomainRouter:
    """`reads_text`: what OCR read is appended to the question, as far as the Q-Former's text is long.

    Off by default: CRAG-MM's rows, on which the head is trained, have no recognised text, and the Q-Former
    sees the photo itself.
    """

    name = "blip2-linear"

    def __init__(self, forward: Forward, head: DomainHead, reads_text: bool = False) -> None:
        self._forward = forward
        self._head = head
        self._reads_text = reads_text

    def classify(self, question: str, recognized_text: str, image: RGB | None) -> list[float]:
        """Probabilities in the order of the head's labels; they sum to 1."""
        asked = f"{question} {recognized_text}".strip() if self._reads_text else question
        (states,) = self._forward([(asked, image)])
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
    likeness = _cosine(witness(qformer), head.witness)
    if not likeness >= _SAME_DIRECTION:  # a NaN is not
        raise WrongWeights(
            "The domain head was not trained on this base model: for two fixed questions their features have"
            f" a cosine of {likeness:.2f}."
        )
    return qformer, head


def put_back(qformer: QFormer, head: DomainHead) -> None:
    """Replace the base model's weights by those that were tuned with the head. Raises `WrongWeights`."""
    import torch

    known = qformer.model.state_dict()
    for name, values in head.tuned.items():
        if name not in known or tuple(known[name].shape) != values.shape:
            raise WrongWeights(f"The domain head tuned {name!r}, which the base model does not have.")
        known[name].copy_(torch.from_numpy(np.array(values)))


def witness(qformer: QFormer) -> Vectors:
    """(N_q, features): by how much the query tokens differ for two fixed questions about two fixed pictures.

    The difference, since what all inputs have in common would make other weights look alike.
    """
    card = _test_card()
    questions = [("What is the name of this, and where is it?", card), ("How old is it?", 255 - card[::-1])]
    one, other = qformer.encode_questions(questions)
    return one - other


def _test_card() -> RGB:
    """Gradients in the three channels, one of them in steps: (96, 96, 3)."""
    ramp = np.linspace(0, 255, 96)
    across, down = np.meshgrid(ramp, ramp)
    return np.stack([across, down, 255 * (across // 64 % 2)], axis=-1).astype(np.uint8)


def _cosine(one: Vectors, other: Vectors) -> float:
    """Of all numbers in a row; 0 where the shapes differ."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float((one * other).sum()) / lengths if lengths and one.shape == other.shape else 0.0
