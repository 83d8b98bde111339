"""How good the probabilities of a classifier are, and the temperature that makes them honest."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ClassMeasures:
    """Of one class; `support`: how many examples of it there are."""

    label: str
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, slots=True)
class Measures:
    """`confusion[i][j]`: examples of class i that were taken for class j. `log_loss` in nats.

    `macro_f1` is the mean over the classes that occur among the examples.
    """

    examples: int
    accuracy: float
    macro_f1: float
    log_loss: float
    classes: tuple[ClassMeasures, ...]
    confusion: tuple[tuple[int, ...], ...]

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def measure(logits: Matrix, labels: Labels, names: Sequence[str]) -> Measures:
    """Of (n, classes) logits, already divided by the temperature; n is at least 1."""
    confusion = confusion_of(logits.argmax(axis=1), labels, len(names))
    hits, support, claimed = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    precision, recall = _ratio(hits, claimed), _ratio(hits, support)
    f1 = _ratio(2 * hits, support + claimed)
    rows = zip(names, precision, recall, f1, support, strict=True)
    return Measures(
        examples=len(labels),
        accuracy=float(hits.sum() / len(labels)),
        macro_f1=float(f1[support > 0].mean()),
        log_loss=log_loss(logits, labels),
        classes=tuple(ClassMeasures(n, float(p), float(r), float(f), int(s)) for n, p, r, f, s in rows),
        confusion=tuple(tuple(map(int, row)) for row in confusion),
    )


def macro_f1(logits: Matrix, labels: Labels) -> float:
    """As in `Measures`."""
    return measure(logits, labels, [""] * logits.shape[1]).macro_f1


def confusion_of(predicted: Labels, labels: Labels, classes: int) -> Labels:
    """(classes, classes): rows are what is true, columns what was predicted."""
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (labels, predicted), 1)
    return counts


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


def _ratio(part: Labels, whole: Labels) -> Matrix:
    """0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
