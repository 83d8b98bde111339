"""How far engines are from their references: a table at the end of a run, whichever process ran the tests."""

import importlib.util
from dataclasses import dataclass

import pytest

PARITY = "parity"
"""The name of the property that a test's report carries: engine, reference, difference, tolerance."""


@dataclass(frozen=True)
class Row:
    """One numerical proof."""

    engine: str
    reference: str
    difference: float
    tolerance: float


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if importlib.util.find_spec("torch") is None:
        terminalreporter.write_line("tests/models was left out: torch is not installed (`make test` does).")
    reports = [report for group in terminalreporter.stats.values() for report in group]
    properties = [each for report in reports for each in getattr(report, "user_properties", ())]
    recorded = {Row(*row) for name, row in properties if name == PARITY}
    rows = sorted(recorded, key=lambda row: (row.engine, row.reference))
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
