"""Train the pocket domain router: `python -m services.domain_router.train_pocket`.

Needs scikit-learn (the dependency group `dev`); serving does not. Prints the accuracy on questions that
were not trained on (five stratified folds), and on a second set written later.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from contracts.domain_router import Domain
from services.domain_router.engines.pocket import BUCKETS, MODEL, LinearModel, Matrix, describe
from services.domain_router.measures import best_temperature, log_loss

FOLDER = Path(__file__).parent / "training"
_DOMAINS = list(Domain)
_INVERSE_PENALTY = 10.0
_SEED = 20


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, what OCR may have read, and the place of its domain in `Domain`."""

    question: str
    recognized_text: str
    label: int


def load(path: Path) -> list[Labelled]:
    """One JSON object a line."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Labelled(r["question"], r["recognized_text"], _DOMAINS.index(Domain(r["domain"]))) for r in rows]


def matrix(rows: Sequence[Labelled]) -> Matrix:
    """(rows, BUCKETS + 2 * domains), dense: 90 MB for 700 rows."""
    dense = np.zeros((len(rows), BUCKETS + 2 * len(_DOMAINS)))
    for number, row in enumerate(rows):
        sparse, listed = describe(row.question, row.recognized_text)
        dense[number, sparse.indices] = sparse.values
        dense[number, BUCKETS:] = listed
    return dense


def fit(inputs: Matrix, labels: NDArray[np.int64], temperature: float = 1.0) -> LinearModel:
    """Multinomial logistic regression, stored in half precision as it will be served."""
    fitted = LogisticRegression(C=_INVERSE_PENALTY, max_iter=1000).fit(inputs, labels)
    weights = fitted.coef_.T.astype(np.float16).astype(np.float64)
    return LinearModel(weights[:BUCKETS], weights[BUCKETS:], fitted.intercept_, temperature)


def held_out_logits(inputs: Matrix, labels: NDArray[np.int64]) -> Matrix:
    """(rows, domains): each row from a model that has not seen it, five stratified folds."""
    logits = np.zeros((len(labels), len(_DOMAINS)))
    for seen, unseen in StratifiedKFold(5, shuffle=True, random_state=_SEED).split(inputs, labels):
        model = fit(inputs[seen], labels[seen])
        logits[unseen] = inputs[unseen] @ np.vstack([model.hashed, model.listed]) + model.bias
    return logits


def accuracy(model: LinearModel, rows: Sequence[Labelled]) -> float:
    """Share of rows whose most probable domain is the labelled one."""
    hits = [int(model.probabilities(r.question, r.recognized_text).argmax()) == r.label for r in rows]
    return float(np.mean(hits))


def main() -> None:
    """Print held-out figures, then train on all questions and write the artefact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, default=FOLDER / "questions.jsonl")
    parser.add_argument("--fresh", type=Path, default=FOLDER / "fresh.jsonl")
    parser.add_argument("--output", type=Path, default=MODEL)
    arguments = parser.parse_args()
    rows, fresh = load(arguments.questions), load(arguments.fresh)
    labels = np.array([row.label for row in rows])
    inputs = matrix(rows)
    logits = held_out_logits(inputs, labels)
    temperature = best_temperature(logits, labels)
    right = float(np.mean(logits.argmax(axis=1) == labels))
    print(f"held out, five stratified folds of {len(rows)}: accuracy {right:.3f}")  # noqa: T201
    model = fit(inputs, labels, temperature)
    print(f"fresh questions ({len(fresh)}): {accuracy(model, fresh):.3f}")  # noqa: T201
    print(f"temperature {temperature:.2f}, log loss {log_loss(logits / temperature, labels):.3f}")  # noqa: T201
    np.savez_compressed(
        arguments.output,
        hashed=model.hashed.astype(np.float16),
        listed=model.listed.astype(np.float32),
        bias=model.bias.astype(np.float32),
        temperature=np.float64(temperature),
    )


if __name__ == "__main__":
    main()
