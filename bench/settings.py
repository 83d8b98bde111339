"""The environment of the processes that benchmarks start."""

import os
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without the platform's own settings, and `variables`."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("LOREGLASS_")}
    path = f"{ROOT}:{ROOT / 'proto'}"
    return {**others, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **variables}
