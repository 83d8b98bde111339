"""Fit the pocket verifier's calibration: `python -m services.verifier.train_pocket`.

Needs scikit-learn (the `train` dependency group); serving does not.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from chassis.fitting import Problem, report, write
from services.verifier.engines.pocket import WEIGHTS, weakest, weigh
from services.verifier.engines.support import FALLING, Features

ANSWERS = Path(__file__).parent / "training" / "answers.jsonl"
_PENALTY = 0.1


def load(path: Path) -> Problem:
    """Features (rows, features) of the answers' weakest claims, labels (rows,), and the rows' questions."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    vectors = []
    for row in rows:
        supports = weigh(row["question"], row["answer"], row["evidence"], row["entity"])
        vectors.append(weakest(supports, _plain_sum).vector())
    labels = [float(row["supported"]) for row in rows]
    return Problem(
        features=list(Features.__dataclass_fields__),
        falling=FALLING,
        vectors=np.array(vectors),
        labels=np.array(labels),
        groups=[f"{row['question']} {row['entity']}" for row in rows],
        penalty=_PENALTY,
    )


def _plain_sum(features: Features) -> float:
    """A stand-in for the probability that is not known before the fit."""
    names = Features.__dataclass_fields__
    return sum(
        -value if name in FALLING else value for name, value in zip(names, features.vector(), strict=True)
    )


def main() -> None:
    """Print cross-validated figures, then fit on all rows and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path, default=ANSWERS)
    parser.add_argument("--output", type=Path, default=WEIGHTS)
    arguments = parser.parse_args()
    problem = load(arguments.answers)
    print(report(problem))  # noqa: T201
    write(problem, arguments.output)


if __name__ == "__main__":
    main()
