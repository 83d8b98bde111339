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
from chassis.models.qformer import QFormer, Question, Vectors, require_witness
from chassis.rgb import RGB
from services.domain_router.engines.domain_head import DomainHead

Forward = Callable[[Sequence[Question]], Sequence[Vectors]]
"""Per question and photo the query tokens, (N_q, hidden): `QFormer.encode_questions`, alone or batched."""


class Blip2DomainRouter:
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
