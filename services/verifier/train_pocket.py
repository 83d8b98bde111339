"""Fit the pocket verifier's calibration: `python -m services.verifier.train_pocket`.

Needs scikit-learn (the `train` dependency group); serving does not.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GroupKFold

from services.verifier.engines.pocket import WEIGHTS, weakest, weigh
from services.verifier.engines.support import FALLING, Features

ANSWERS = Path(__file__).parent / "training" / "answers.jsonl"
_PENALTY = 0.1
_STEPS = 20_000

Matrix = NDArray[np.float64]


def load(path: Path) -> tuple[Matrix, Matrix, list[str]]:
    """Features (rows, features) of the answers' weakest claims, labels (rows,), and the rows' questions."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    vectors = []
    for row in rows:
        supports = weigh(row["question"], row["answer"], row["evidence"], row["entity"])
        vectors.append(weakest(supports, _plain_sum).vector())
    labels = [float(row["supported"]) for row in rows]
    return np.array(vectors), np.array(labels), [f"{row['question']} {row['entity']}" for row in rows]


def _plain_sum(features: Features) -> float:
    """A stand-in for the probability that is not known before the fit."""
    names = Features.__dataclass_fields__
    return sum(
        -value if name in FALLING else value for name, value in zip(names, features.vector(), strict=True)
    )


def fit(vectors: Matrix, labels: Matrix) -> Matrix:
    """Ridge logistic regression by projected gradient: intercept, then one coefficient a feature.

    Signs are held to what the features mean, so that collinear ones cannot argue the wrong way.
    """
    signs = np.array([-1.0 if name in FALLING else 1.0 for name in Features.__dataclass_fields__])
    inputs = np.hstack([np.ones((len(vectors), 1)), vectors * signs])
    weights = np.zeros(inputs.shape[1])
    penalty = np.r_[0.0, np.full(len(signs), _PENALTY)]
    rate = 1.0 / (np.linalg.norm(inputs, 2) ** 2 / 4.0 + _PENALTY)  # the loss's curvature at most
    for _ in range(_STEPS):
        probability = logistic(inputs @ weights)
        weights -= rate * (inputs.T @ (probability - labels) + penalty * weights)
        weights[1:] = np.maximum(weights[1:], 0.0)
    weights[1:] *= signs
    return weights


def logistic(logits: Matrix) -> Matrix:
    """The logistic function."""
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def held_out(vectors: Matrix, labels: Matrix, groups: list[str]) -> Matrix:
    """A probability for each row from a model that has not seen its question."""
    probability = np.zeros(len(labels))
    for seen, unseen in GroupKFold(10).split(vectors, labels, groups):
        weights = fit(vectors[seen], labels[seen])
        probability[unseen] = logistic(weights[0] + vectors[unseen] @ weights[1:])
    return probability


def main() -> None:
    """Print cross-validated figures, then fit on all rows and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    vectors, labels, groups = load(arguments.answers)
    probability = held_out(vectors, labels, groups)
    print(f"rows {len(labels)}, supported {int(labels.sum())}, questions {len(set(groups))}")  # noqa: T201
    print(  # noqa: T201
        f"held out (10 folds by question): accuracy {np.mean((probability > 0.5) == labels):.3f}, "
        f"AUC {roc_auc_score(labels, probability):.3f}, Brier {brier_score_loss(labels, probability):.3f}"
    )
    weights = [round(float(weight), 4) for weight in fit(vectors, labels)]
    coefficients = dict(zip(Features.__dataclass_fields__, weights[1:], strict=True))
    stored = {"intercept": weights[0], "coefficients": coefficients}
    arguments.output.write_text(json.dumps(stored, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
