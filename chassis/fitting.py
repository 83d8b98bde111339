"""Fits a `LogisticCurve` on labelled rows. Needs scikit-learn: the extra `training`, or the group `dev`."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

Matrix = NDArray[np.float64]

_FOLDS = 10


@dataclass(frozen=True, slots=True)
class Problem:
    """`vectors` (rows, features), `labels` (rows,) of 0 and 1; rows of a group never part between folds.

    `falling` names the features that may only lower the probability; all others may only raise it, so
    that collinear ones cannot argue the wrong way. `weights` (rows,): how much each row counts, 1 if None.
    """

    features: Sequence[str]
    falling: Collection[str]
    vectors: Matrix
    labels: Matrix
    groups: Sequence[str]
    penalty: float
    weights: Matrix | None = None


def fit(problem: Problem, vectors: Matrix, labels: Matrix, counting: Matrix | None = None) -> Matrix:
    """Ridge logistic regression by L-BFGS-B: the intercept, then one coefficient a feature.

    `counting` (rows,): how much each row counts; 1 if left out.
    """
    rows = np.ones(len(labels)) if counting is None else counting
    signs = np.array([-1.0 if name in problem.falling else 1.0 for name in problem.features])
    inputs = np.hstack([np.ones((len(vectors), 1)), vectors * signs])
    penalty = np.r_[0.0, np.full(len(signs), problem.penalty)]

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        logits = inputs @ weights
        value = rows @ (np.logaddexp(0.0, logits) - labels * logits) + penalty @ weights**2 / 2.0
        return float(value), inputs.T @ (rows * (_logistic(logits) - labels)) + penalty * weights

    bounds = [(None, None), *[(0.0, None)] * len(signs)]
    solution = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(solution.x * np.r_[1.0, signs])


def held_out(problem: Problem) -> Matrix:
    """A probability for each row from a model that has not seen its group."""
    probability = np.zeros(len(problem.labels))
    folds = GroupKFold(_FOLDS).split(problem.vectors, problem.labels, problem.groups)
    for seen, unseen in folds:
        counting = None if problem.weights is None else problem.weights[seen]
        weights = fit(problem, problem.vectors[seen], problem.labels[seen], counting)
        probability[unseen] = _logistic(weights[0] + problem.vectors[unseen] @ weights[1:])
    return probability


def report(problem: Problem) -> str:
    """Cross-validated figures, as the scripts print them."""
    questions = len(set(problem.groups))
    held = figures(problem.labels, held_out(problem))
    return f"held out ({_FOLDS} folds by question, {questions} questions): {held}"


def figures(labels: Matrix, probability: Matrix) -> str:
    """How well probabilities (rows,) fit labels (rows,)."""
    return (
        f"rows {len(labels)}, positive {int(labels.sum())}, "
        f"accuracy {np.mean((probability > 0.5) == labels):.3f}, "
        f"AUC {roc_auc_score(labels, probability):.3f}, Brier {brier_score_loss(labels, probability):.3f}"
    )


def write(problem: Problem, path: Path) -> None:
    """Fit on all rows and store what `LogisticCurve.load` reads."""
    weights = [
        round(float(weight), 4) for weight in fit(problem, problem.vectors, problem.labels, problem.weights)
    ]
    coefficients = dict(zip(problem.features, weights[1:], strict=True))
    stored = {"intercept": weights[0], "coefficients": coefficients}
    path.write_text(json.dumps(stored, indent=2) + "\n", "utf-8")


def _logistic(logits: Matrix) -> Matrix:
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))
