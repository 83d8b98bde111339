"""Fits a `LogisticCurve` on labelled rows. Needs scikit-learn: the extra `training`, or the group `dev`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold

Matrix = NDArray[np.float64]

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
    """Ridge logistic regression by L-BFGS-B: the intercept, then one coefficient a feature."""
    signs = np.array([-1.0 if name in problem.falling else 1.0 for name in problem.features])
    inputs = np.hstack([np.ones((len(vectors), 1)), vectors * signs])
    penalty = np.r_[0.0, np.full(len(signs), problem.penalty)]

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        logits = inputs @ weights
        value = np.sum(np.logaddexp(0.0, logits) - labels * logits) + penalty @ weights**2 / 2.0
        return float(value), inputs.T @ (_logistic(logits) - labels) + penalty * weights

    bounds = [(None, None), *[(0.0, None)] * len(signs)]
    solution = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(solution.x * np.r_[1.0, signs])


def held_out(problem: Problem) -> Matrix:
    """A probability for each row from a model that has not seen its group."""
    probability = np.zeros(len(problem.labels))
    folds = GroupKFold(_FOLDS).split(problem.vectors, problem.labels, problem.groups)
    for fitted, unseen in folds:
        weights = fit(problem, problem.vectors[fitted], problem.labels[fitted])
        probability[unseen] = _logistic(weights[0] + problem.vectors[unseen] @ weights[1:])
    return probability


def _logistic(logits: Matrix) -> Matrix:
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))
