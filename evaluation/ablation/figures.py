"""What one system reached, with intervals, and how it differs from another on the same questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.scoring.intervals import Interval, Paired, bootstrap, holm, paired
from evaluation.scoring.measures import (
    Measure,
    accuracy,
    elapsed,
    gold_overlap,
    hallucination,
    missing,
    truthfulness,
)
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval over conversations; NaN where there is nothing to measure."""

    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one system. Rates and overlap in 0..1, truthfulness in -1..1, `elapsed_s` as the caller waited."""

    count: int
    accuracy: Figure
    missing: Figure
    hallucination: Figure
    truthfulness: Figure
    overlap: Figure
    elapsed_s: Figure


@dataclass(frozen=True, slots=True)
class Difference:
    """In truthfulness, to the whole system. `p_value` is corrected for all that are compared (Holm)."""

    value: float
    interval: Interval
    p_value: float
    turns: int


def figures_of(scored: Sequence[Scored], protocol: Protocol) -> Figures:
    """Everything that the tables show."""
    seconds = _measured(scored, elapsed())
    return Figures(
        count=len(scored),
        accuracy=_measured(scored, accuracy(protocol)),
        missing=_measured(scored, missing(protocol)),
        hallucination=_measured(scored, hallucination(protocol)),
        truthfulness=_measured(scored, truthfulness(protocol)),
        overlap=_measured(scored, gold_overlap()),
        elapsed_s=Figure(
            seconds.value / 1000, Interval(seconds.interval.low / 1000, seconds.interval.high / 1000)
        ),
    )


def differences(
    whole: Sequence[Scored], others: dict[str, Sequence[Scored]], protocol: Protocol
) -> dict[str, Difference]:
    """Of each of the others to the whole system, over the questions that both were asked."""
    compared: dict[str, Paired] = {
        name: paired(other, whole, truthfulness(protocol)) for name, other in others.items()
    }
    p_values = holm([each.p_value for each in compared.values()])
    return {
        name: Difference(each.difference, each.interval, p_value, each.turns)
        for (name, each), p_value in zip(compared.items(), p_values, strict=True)
    }


def _measured(scored: Sequence[Scored], measure: Measure) -> Figure:
    value = measure.of(scored)
    return Figure(value, bootstrap(scored, measure))


def is_known(figure: Figure) -> bool:
    """Whether there was anything to measure."""
    return not math.isnan(figure.value)
