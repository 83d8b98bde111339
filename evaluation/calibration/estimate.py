"""What thresholds give, with intervals, and what they would give on questions that they were not chosen
on."""

from collections.abc import Callable, Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict

from evaluation.calibration.replay import (
    Bools,
    CalibrationError,
    Cutoffs,
    Floats,
    Signals,
    rates,
    replay,
)
from evaluation.data.model import Part
from evaluation.scoring.intervals import Interval, bootstrap
from evaluation.scoring.measures import Measure, Unit

FOLDS = 5
Choose = Callable[[Signals], Cutoffs]


class Given(BaseModel):
    """Results of thresholds: shares of all questions with 95 % intervals over conversations; `risk`: wrong
    among the answered, None where none is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: int
    sessions: int
    accuracy: float
    accuracy_range: Interval
    acceptable: float
    missing: float
    hallucination: float
    hallucination_range: Interval
    truthfulness: float
    truthfulness_range: Interval
    risk: float | None


def figures(signals: Signals, points: Floats) -> Given:
    """Return the figures of points that were given somehow."""
    found = rates(points)
    return Given(
        questions=found.count,
        sessions=signals.sessions,
        accuracy=found.accuracy,
        accuracy_range=_interval(signals, points == 1.0),
        acceptable=found.acceptable,
        missing=found.missing,
        hallucination=found.hallucination,
        hallucination_range=_interval(signals, points < 0.0),
        truthfulness=found.truthfulness,
        truthfulness_range=_interval(signals, points),
        risk=found.hallucination / found.coverage if found.coverage > 0.0 else None,
    )


def under(signals: Signals, cutoffs: Cutoffs) -> Given:
    """Of a replay."""
    return figures(signals, replay(signals, cutoffs).points)


def gain(signals: Signals, before: Cutoffs, after: Cutoffs) -> Interval:
    """Interval of the difference in truthfulness between two settings on the same questions."""
    return _interval(signals, replay(signals, after).points - replay(signals, before).points)


def cross_validated(signals: Signals, choose: Choose, *, folds: int = FOLDS, seed: int = 0) -> Given | None:
    """Return the figures of every conversation under thresholds chosen on the others.

    Whole conversations are drawn into a fold at random. None if there are too few to leave some out.
    """
    sessions, place = np.unique(signals.session, return_inverse=True)
    if len(sessions) < folds:
        return None
    fold_of = np.empty(len(sessions), np.int64)
    fold_of[np.random.default_rng(seed).permutation(len(sessions))] = np.arange(len(sessions)) % folds
    points = np.zeros(len(signals))
    for fold in range(folds):
        inside = fold_of[place] == fold
        try:
            cutoffs = choose(signals.where(~inside))
        except CalibrationError:
            return None
        points[inside] = replay(signals.where(inside), cutoffs).points
    return figures(signals, points)


def wrong_by_conversation(signals: Signals, cutoffs: Cutoffs) -> tuple[float, float]:
    """Return what a guarantee bounds: the share answered wrongly, every conversation counting alike, and the
    lower end of its 95 % interval.
    """
    wrong = replay(signals, cutoffs).points < 0.0
    _, session = np.unique(signals.session, return_inverse=True)
    share = float((np.bincount(session, wrong) / np.bincount(session)).mean())
    return share, _interval(signals, wrong, by_session=True).low


def _interval(signals: Signals, values: Floats | Bools, *, by_session: bool = False) -> Interval:
    units: Mapping[Unit, float] = {
        (Part.SINGLE, f"{session:08d}", place): float(value)
        for place, (session, value) in enumerate(zip(signals.session, values, strict=True))
    }
    return bootstrap((), Measure("points", lambda _: dict(units), by_session))
