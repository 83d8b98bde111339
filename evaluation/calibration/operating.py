"""Where a run could stand: what `calibrate` would choose for several aims, and what that gives on questions
that it was not chosen on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.calibration.aim import Aim
from evaluation.calibration.cutoffs import CalibrationError, Cutoffs
from evaluation.calibration.estimate import folds_of_sessions, held_out
from evaluation.calibration.grid import Objective
from evaluation.calibration.proposals import signals_by_rules
from evaluation.calibration.signals import Ints, Signals
from evaluation.runs.store import Run
from evaluation.scoring.spans import Outcomes, outcomes

CEILINGS = (0.10, 0.05, 0.03, 0.02, 0.01)
"""On the share of all questions that is answered wrongly, unanswerable ones included."""
_FEWEST_GROUPS = 3


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """`aim`: in words. `changed`: the thresholds that calibrating on all questions moves, by name.

    `outcomes`: of every question under thresholds that were chosen without its article, or fold.
    """

    aim: str
    changed: Mapping[str, float]
    outcomes: Outcomes


def operating_points(run: Run) -> list[OperatingPoint]:
    """For the best truthfulness and for each ceiling that can be kept, by the rule judge.

    None for a run without explanations or thresholds.
    """
    try:
        signals = signals_by_rules(run)
    except CalibrationError:
        return []
    fold_of = _articles(run)
    if fold_of is None:
        fold_of = folds_of_sessions(signals)
    if fold_of is None:
        return []
    answerable = [record.answerable for record in run.records]
    found = [_point(told, aim, signals, fold_of, answerable) for told, aim in _aims()]
    return [point for point in found if point is not None]


def _point(
    told: str, aim: Aim, signals: Signals, fold_of: Ints, answerable: Sequence[bool]
) -> OperatingPoint | None:
    choose = aim.chooser(signals.in_force)
    points = held_out([signals], choose, aim.value, fold_of)
    try:
        changed = _changed(choose(signals), signals.in_force)
    except CalibrationError:
        return None
    if points is None:
        return None
    judged = [(has, float(each)) for has, each in zip(answerable, points, strict=True)]
    return OperatingPoint(told, changed, outcomes(judged))


def _aims() -> Sequence[tuple[str, Aim]]:
    ceilings = [(f"at most {100 * share:g} % wrong", Aim(Objective(share))) for share in CEILINGS]
    return [("best truthfulness", Aim()), *ceilings]


def _articles(run: Run) -> Ints | None:
    """A fold for every article, which leaves one out at a time; None where there are too few."""
    names, fold_of = np.unique([record.domain for record in run.records], return_inverse=True)
    return fold_of.astype(np.int64) if len(names) >= _FEWEST_GROUPS else None


def _changed(chosen: Cutoffs, present: Cutoffs) -> dict[str, float]:
    before = present.named()
    return {name: value for name, value in chosen.named().items() if value != before[name]}
