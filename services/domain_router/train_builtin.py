"""Fit the head of the built-in domain router: `python -m services.domain_router.train_builtin`.

Needs scikit-learn (the dependency group `dev`); serving does not. Prints the accuracy on questions that
were not trained on (five stratified folds), and on a second set written later.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from chassis.models.encoders import shared_sentence_encoder
from contracts.domain_router import Domain
from services.domain_router.engines.builtin import HEAD, router_text
from services.domain_router.measures import best_temperature, log_loss

FOLDER = Path(__file__).parent / "training"
_DOMAINS = list(Domain)
_INVERSE_PENALTY = 30.0
_SEED = 20
_NO_CLUE = (
    "",
    "!",
    "ok",
    "that",
    "who",
    "when",
    "how",
    "and",
    "yes",
    "these",
    "it",
    "er",
    "which",
    "so",
    "him",
)
"""Texts that tell of no domain: each is fitted as all of them."""


def load(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return vectors [rows, size] and the places of their domains, of one JSON object a line."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    texts = [router_text(row["question"], row["recognized_text"]) for row in rows]
    labels = [_DOMAINS.index(Domain(row["domain"])) for row in rows]
    return np.array(shared_sentence_encoder().queries(texts)), np.array(labels)


def main() -> None:
    """Print held-out figures, then fit on all questions and write the head."""
    (vectors, labels), (fresh, fresh_labels) = load(FOLDER / "questions.jsonl"), load(FOLDER / "fresh.jsonl")
    model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=2000)
    folds = StratifiedKFold(5, shuffle=True, random_state=_SEED)
    logits = cross_val_predict(model, vectors, labels, cv=folds, method="decision_function")
    temperature = best_temperature(logits, labels)
    right = float(np.mean(logits.argmax(axis=1) == labels))
    print(f"held out, five stratified folds of {len(labels)}: accuracy {right:.3f}")  # noqa: T201
    nothing = np.repeat(shared_sentence_encoder().queries(_NO_CLUE), len(_DOMAINS), axis=0)
    every = np.tile(np.arange(len(_DOMAINS)), len(_NO_CLUE))
    model.fit(np.vstack([vectors, nothing]), np.concatenate([labels, every]))
    print(f"fresh questions ({len(fresh_labels)}): {model.score(fresh, fresh_labels):.3f}")  # noqa: T201
    print(f"temperature {temperature:.2f}, log loss {log_loss(logits / temperature, labels):.3f}")  # noqa: T201
    weights, bias = model.coef_.T.astype(np.float32), model.intercept_.astype(np.float32)
    np.savez_compressed(HEAD, weights=weights, bias=bias, temperature=np.float64(temperature))


if __name__ == "__main__":
    main()
