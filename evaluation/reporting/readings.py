"""What is measured of a system, how it is called, written, and which way is better."""

import math
from dataclasses import dataclass
from enum import StrEnum


class MeasureName(StrEnum):
    """Names as they stand in report.json."""

    TRUTHFULNESS = "truthfulness"
    ACCURACY = "accuracy"
    MISSING = "missing"
    HALLUCINATION = "hallucination"
    ACCEPTABLE = "acceptable"
    SESSION_TRUTHFULNESS = "session_truthfulness"
    OVERLAP = "overlap"
    ELAPSED_MEAN_MS = "elapsed_mean_ms"
    ELAPSED_P50_MS = "elapsed_p50_ms"
    ELAPSED_P95_MS = "elapsed_p95_ms"
    EARLY_STOPPED = "early_stopped"
    TURNS_SUCCEEDED = "turns_succeeded"


class Unit(StrEnum):
    """How a number is written."""

    SHARE = "share"
    SCORE = "score"
    MILLISECONDS = "ms"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Reading:
    """How people read a measure. `better`: 1 where more is better, -1 where less is, 0 where neither is.

    `heading`: a shorter label for a column, where it stands among its like.
    """

    label: str
    unit: Unit
    better: int
    heading: str = ""

    @property
    def column(self) -> str:
        """What stands above a column."""
        return self.heading or self.label


READINGS: dict[MeasureName, Reading] = {
    MeasureName.TRUTHFULNESS: Reading("truthfulness", Unit.SCORE, 1),
    MeasureName.ACCURACY: Reading("accuracy", Unit.SHARE, 1),
    MeasureName.MISSING: Reading("missing", Unit.SHARE, 0),
    MeasureName.HALLUCINATION: Reading("hallucination", Unit.SHARE, -1),
    MeasureName.ACCEPTABLE: Reading("acceptable", Unit.SHARE, 0),
    MeasureName.SESSION_TRUTHFULNESS: Reading(
        "truthfulness, mean over conversations", Unit.SCORE, 1, "truthfulness by conv."
    ),
    MeasureName.OVERLAP: Reading("overlap", Unit.SHARE, 1),
    MeasureName.ELAPSED_MEAN_MS: Reading("elapsed, mean", Unit.MILLISECONDS, -1),
    MeasureName.ELAPSED_P50_MS: Reading("elapsed, p50", Unit.MILLISECONDS, -1),
    MeasureName.ELAPSED_P95_MS: Reading("elapsed, p95", Unit.MILLISECONDS, -1),
    MeasureName.EARLY_STOPPED: Reading("conversations given up", Unit.SHARE, -1, "conv. given up"),
    MeasureName.TURNS_SUCCEEDED: Reading(
        "turns answered rightly, a conversation", Unit.COUNT, 1, "right turns a conv."
    ),
}


OF_CONVERSATIONS = (
    MeasureName.SESSION_TRUTHFULNESS,
    MeasureName.EARLY_STOPPED,
    MeasureName.TURNS_SUCCEEDED,
)
"""Means over conversations; the others are over questions."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; NaN where there is nothing to measure."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there was anything to measure."""
        return not math.isnan(self.value)


def written(value: float, unit: Unit) -> str:
    """`34.5 %`, `+0.123`, `1.24 s`, `340 ms`, `2.41`; a dash for what is not there."""
    if math.isnan(value):
        return "–"
    match unit:
        case Unit.SHARE:
            return f"{100 * value:.1f} %"
        case Unit.SCORE:
            return signed(value)
        case Unit.MILLISECONDS:
            return f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.0f} ms"
        case Unit.COUNT:
            return f"{value:.2f}"


def signed(value: float, digits: int = 3) -> str:
    """With its sign, a real minus, and no negative zero."""
    rounded = round(value, digits)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return f"{sign}{abs(rounded):.{digits}f}"


def span(estimate: Estimate, unit: Unit) -> str:
    """The interval alone: `31.0–38.2`, in the figure's unit."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return ""
    match unit:
        case Unit.SHARE:
            return f"{100 * estimate.low:.1f}–{100 * estimate.high:.1f}"
        case Unit.SCORE:
            return f"{signed(estimate.low)} to {signed(estimate.high)}"
        case Unit.MILLISECONDS:
            return f"{_time(estimate.low, estimate.value)}–{_time(estimate.high, estimate.value)}"
        case Unit.COUNT:
            return f"{estimate.low:.2f}–{estimate.high:.2f}"


def _time(ms: float, like: float) -> str:
    return f"{ms / 1000:.2f}" if like >= 1000 else f"{ms:.0f}"
