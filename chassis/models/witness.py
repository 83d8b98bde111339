"""Whether a trained part and a base model belong together: another checkpoint of one size fits as well, and
everything computed with it would mean nothing. Runs in a bare torch + transformers environment.
"""

import numpy as np
from numpy.typing import NDArray

from chassis.models.pretrained import WrongWeights
from chassis.models.qformer import QFormer, Vectors

_SAME_DIRECTION = 0.85  # cosine: tiny models give above 0.99 in bfloat16, below 0.3 with other weights


def witness(qformer: QFormer) -> Vectors:
    """(N_q, features): by how much the query tokens differ for two fixed questions about two fixed pictures.

    The difference, since what all inputs have in common would make other weights look alike.
    """
    card = _test_card()
    questions = [("What is the name of this, and where is it?", card), ("How old is it?", 255 - card[::-1])]
    one, other = qformer.encode_questions(questions)
    return one - other


def require_witness(qformer: QFormer, expected: Vectors, trained: str) -> None:
    """Raise `WrongWeights` unless the witness is the `expected` one, of the base model of the training."""
    likeness = _cosine(witness(qformer), expected)
    if not likeness >= _SAME_DIRECTION:  # a NaN is not
        raise WrongWeights(
            f"The {trained} was not trained on this base model: for two fixed questions their features have"
            f" a cosine of {likeness:.2f}."
        )


def _test_card() -> NDArray[np.uint8]:
    """Gradients in the three channels, one of them in steps: (96, 96, 3)."""
    ramp = np.linspace(0, 255, 96)
    across, down = np.meshgrid(ramp, ramp)
    return np.stack([across, down, 255 * (across // 64 % 2)], axis=-1).astype(np.uint8)


def _cosine(one: Vectors, other: Vectors) -> float:
    """Of all numbers in a row; 0 where the shapes differ."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float((one * other).sum()) / lengths if lengths and one.shape == other.shape else 0.0
