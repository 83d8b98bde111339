"""Tests that need torch. Tiny models built from configs; nothing is downloaded."""

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

HAS_TORCH = importlib.util.find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["test_*.py"]

Parity = Callable[..., None]


@dataclass(frozen=True)
class Row:
    """One numerical proof."""

    engine: str
    reference: str
    difference: float
    tolerance: float


_ROWS = pytest.StashKey[list[Row]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_ROWS] = []
    if HAS_TORCH:
        import torch

        from tests.models.torchvision_ops import make_importable

        torch.set_num_threads(1)
        make_importable()  # before transformers looks: without it none of its image processors loads


@pytest.fixture
def parity(request: pytest.FixtureRequest) -> Parity:
    """`parity(engine, reference, difference, tolerance=1e-4)`: a row of the table, and an assertion."""

    def record(engine: str, reference: str, difference: float, tolerance: float = 1e-4) -> None:
        request.config.stash[_ROWS].append(Row(engine, reference, float(difference), tolerance))
        assert difference <= tolerance

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not HAS_TORCH:
        terminalreporter.write_line("tests/models was left out: torch is not installed (`make test` does).")
    recorded = config.stash[_ROWS]
    rows = sorted(set(recorded), key=lambda row: (row.engine, row.reference))
    if not rows:
        return
    width = max(len(row.engine) for row in rows)
    other = max(len(row.reference) for row in rows)
    terminalreporter.section("engines against their references")
    for row in rows:
        terminalreporter.write_line(
            f"{row.engine:<{width}}  {row.reference:<{other}}  max difference {row.difference:.1e}"
            f"  (allowed {row.tolerance:.0e})"
        )
