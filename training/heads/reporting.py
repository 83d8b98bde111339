"""Calibration figures of a head, for its summary."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from services.domain_router.measures import Labels
from training.heads.calibration import Matrix, aurc, calibration_error, reliability


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
