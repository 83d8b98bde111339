"""Calibration of probabilities: reliability, expected calibration error, risk and coverage."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.domain_router.measures import Labels

Matrix = NDArray[np.float64]

BINS = 10
COVERAGES = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Bin:
    """The mean probability (`said`) and the share that came true (`true`) of `count` cases, in 0..1."""

    said: float
    true: float
    count: int


def reliability(right: Matrix, probability: Matrix) -> tuple[Bin, ...]:
    """Return ten bins of equal width, without empty ones. `right` (n,) of 0 and 1, `probability` (n,)."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    found = []
    for each in range(BINS):
        inside = bins == each
        if inside.any():
            said, true = float(probability[inside].mean()), float(right[inside].mean())
            found.append(Bin(said, true, int(inside.sum())))
    return tuple(found)


def calibration_error(right: Matrix, probability: Matrix) -> float:
    """Return the expected calibration error (Naeini et al. 2015): the mean gap of the bins."""
    gaps = (each.count * abs(each.said - each.true) for each in reliability(right, probability))
    return float(sum(gaps) / len(right))


def risks(right: Matrix, probability: Matrix) -> Matrix:
    """(n,): the share of wrong ones among the surest 1, 2, … of them; equals count as a mixture."""
    order = np.argsort(-probability, kind="stable")
    said, wrong = probability[order], 1.0 - right[order]
    for value in np.unique(said):
        wrong[said == value] = wrong[said == value].mean()
    return np.asarray(np.cumsum(wrong) / np.arange(1, len(wrong) + 1))


def aurc(right: Matrix, probability: Matrix) -> float:
    """The area under risk and coverage (Geifman, Uziel and El-Yaniv 2019), in 0..1; less is better."""
    return float(risks(right, probability).mean())


def table(right: Matrix, named: Mapping[str, Matrix]) -> str:
    """Risk at some coverages, AURC and calibration error, a line for each of the probabilities (n,)."""
    heads = "".join(f"{share:>8.0%}" for share in COVERAGES)
    lines = [f"risk at coverage {heads}    AURC  calibration error"]
    for name, probability in named.items():
        at = risks(right, probability)
        cells = "".join(f"{at[max(0, round(share * len(right)) - 1)]:8.3f}" for share in COVERAGES)
        ends = f"{aurc(right, probability):8.3f}{calibration_error(right, probability):8.3f}"
        lines.append(f"{name:16.16} {cells}{ends}")
    return "\n".join(lines)


def classified(labels: Labels, named: Mapping[str, Matrix]) -> dict[str, Any]:
    """Figures of the likeliest class: `named` probabilities (n, classes), `labels` (n,)."""
    return calibrated(
        {
            name: (np.asarray(rows.argmax(axis=1) == labels, np.float64), rows.max(axis=1))
            for name, rows in named.items()
        },
    )


def calibrated(named: Mapping[str, tuple[Matrix, Matrix]]) -> dict[str, Any]:
    """Figures by name, of whether it was right (n,) and of the probability that was said (n,)."""
    return {
        "calibration": {
            name: {
                "calibration_error": round(calibration_error(right, said), 4),
                "aurc": round(aurc(right, said), 4),
                "reliability": [asdict(each) for each in reliability(right, said)],
            }
            for name, (right, said) in named.items()
        }
    }
