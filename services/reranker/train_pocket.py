"""Fit the pocket reranker's calibration: `python -m services.reranker.train_pocket`.

Needs scikit-learn (the `train` dependency group); serving does not.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from chassis.fitting import Problem, report, write
from services.reranker.engines.features import Features, measure
from services.reranker.engines.pocket import WEIGHTS
from services.reranker.engines.question import QuestionReader
from services.reranker.engines.text import analyse

TRIPLES = Path(__file__).parent / "training" / "triples.jsonl"
_FALLING = {"rival", "extended"}
_PENALTY = 0.25


def load(path: Path) -> Problem:
    """Features (rows, features), labels (rows,) and the question of each row, which groups the folds."""
    reader = QuestionReader()
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    vectors = [measure(reader.read(r["question"], r["entity"]), analyse(r["passage"])).vector() for r in rows]
    labels = [float(row["relevant"]) for row in rows]
    return Problem(
        features=list(Features.__dataclass_fields__),
        falling=_FALLING,
        vectors=np.array(vectors),
        labels=np.array(labels),
        groups=[f"{row['question']} {row['entity']}" for row in rows],
        penalty=_PENALTY,
    )


def main() -> None:
    """Print cross-validated figures, then fit on all rows and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=Path, default=TRIPLES)
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    problem = load(arguments.triples)
    print(report(problem))  # noqa: T201
    write(problem, arguments.output)


if __name__ == "__main__":
    main()
