"""Fits a `LogisticCurve` on labelled rows. For training scripts: needs scikit-learn (the `train` group)."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

Matrix = NDArray[np.float64]

_STEPS = 20_000
_FOLDS = 10


@dataclass(frozen=True, slots=True)
class Problem:
    """`vectors` (rows, features), `labels` (rows,) of 0 and 1; rows of a group never part between folds.

    `falling` names the features that may only lower the probability; all others may only raise it, so
    that collinear ones cannot argue the wrong way.
    """

    features: Sequence[str]
    falling: Collection[str]
    vectors: Matrix
    labels: Matrix
    groups: Sequence[str]
    penalty: float


def fit(problem: Problem, vectors: Matrix, labels: Matrix) -> Matrix:
    """Ridge logistic regression by projected gradient: the intercept, then one coefficient a feature."""
    signs = np.array([-1.0 if name in problem.falling else 1.0 for name in problem.features])
    inputs = np.hstack([np.ones((len(vectors), 1)), vectors * signs])
    weights = np.zeros(inputs.shape[1])
    penalty = np.r_[0.0, np.full(len(signs), problem.penalty)]
    rate = 1.0 / (np.linalg.norm(inputs, 2) ** 2 / 4.0 + problem.penalty)  # the loss's curvature at most
    for _ in range(_STEPS):
        weights -= rate * (inputs.T @ (_logistic(inputs @ weights) - labels) + penalty * weights)
        weights[1:] = np.maximum(weights[1:], 0.0)
    weights[1:] *= signs
    return weights


def held_out(problem: Problem) -> Matrix:
    """A probability for each row from a model that has not seen its group."""
    probability = np.zeros(len(problem.labels))
    folds = GroupKFold(_FOLDS).split(problem.vectors, problem.labels, problem.groups)
    for seen, unseen in folds:
        weights = fit(problem, problem.vectors[seen], problem.labels[seen])
        probability[unseen] = _logistic(weights[0] + problem.vectors[unseen] @ weights[1:])
    return probability


def report(problem: Problem) -> str:
    """Cross-validated figures, as the scripts print them."""
    labels, probability = problem.labels, held_out(problem)
    return (
        f"rows {len(labels)}, positive {int(labels.sum())}, questions {len(set(problem.groups))}\n"
        f"held out ({_FOLDS} folds by question): accuracy {np.mean((probability > 0.5) == labels):.3f}, "
        f"AUC {roc_auc_score(labels, probability):.3f}, Brier {brier_score_loss(labels, probability):.3f}"
    )


def write(problem: Problem, path: Path) -> None:
    """Fit on all rows and store what `LogisticCurve.load` reads."""
    weights = [round(float(weight), 4) for weight in fit(problem, problem.vectors, problem.labels)]
    coefficients = dict(zip(problem.features, weights[1:], strict=True))
    stored = {"intercept": weights[0], "coefficients": coefficients}
    path.write_text(json.dumps(stored, indent=2) + "\n", "utf-8")


def _logistic(logits: Matrix) -> Matrix:
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))
