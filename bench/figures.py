"""Figures of many requests, and the tables they end up in."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (0..1) of them do not exceed; nan of none (nearest rank)."""
    return float(np.quantile(values, share, method="inverted_cdf")) if values else math.nan


def number(value: float, digits: int = 1) -> str:
    """Return the number as tables show it; a dash if it could not be measured."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else "–"


def share(part: float, whole: float) -> str:
    """Return a share in per cent."""
    return f"{number(100 * part / whole)} %" if whole else "–"


@dataclass(frozen=True, slots=True)
class Table:
    """One result. `finding`: the sentence that says whether the goal was met."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    finding: str = ""
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        """Return the table in Markdown; the first column to the left, figures to the right."""
        rules = ["---", *("---:" for _ in self.headers[1:])]
        rows = (self.headers, rules, *self.rows)
        return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
