"""The probabilities of a classifier, their log loss, and the temperature that calibrates them."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]


def softmax(logits: Matrix) -> Matrix:
    """Return probabilities over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def log_loss(logits: Matrix, labels: Labels) -> float:
    """Mean negative log likelihood, nats."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-log_probabilities[np.arange(len(labels)), labels].mean())


def best_temperature(logits: Matrix, labels: Labels) -> float:
    """The softmax temperature that makes held-out probabilities most honest (Guo et al., 2017)."""
    candidates = np.arange(0.5, 10.01, 0.05)
    return float(min(candidates, key=lambda temperature: log_loss(logits / temperature, labels)))
