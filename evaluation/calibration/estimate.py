"""What thresholds give, with intervals, and what they would give on questions that they were not chosen
on."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from evaluation.calibration.replay import (
    Bools,
    CalibrationError,
    Cutoffs,
    Floats,
    Ints,
    Signals,
    rates,
    replay,
)
from evaluation.data.model import Part
from evaluation.scoring.intervals import Interval, bootstrap
from evaluation.scoring.measures import Measure, Unit

FOLDS = 5
Choose = Callable[[Signals], Cutoffs]
Value = Callable[[Signals, Cutoffs], float]


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


def cross_validated(
    rivals: Sequence[Signals], choose: Choose, value: Value, *, folds: int = FOLDS, seed: int = 0
) -> Given | None:
    """Every conversation under thresholds chosen on the others: what was chosen on all flatters itself.

    `rivals`: runs over the same questions, question by question, of which the one with the best `value` is
    chosen as well. None where there are too few conversations to choose without some of them.
    """
    first = rivals[0]
    fold_of = folds_of_sessions(first, folds, seed)
    points = None if fold_of is None else held_out(rivals, choose, value, fold_of)
    return None if points is None else figures(first, points)


def folds_of_sessions(signals: Signals, folds: int = FOLDS, seed: int = 0) -> Ints | None:
    """A fold for every question, at random and whole conversations together; None for too few of these."""
    sessions, place = np.unique(signals.session, return_inverse=True)
    if len(sessions) < folds:
        return None
    order = np.empty(len(sessions), np.int64)
    order[np.random.default_rng(seed).permutation(len(sessions))] = np.arange(len(sessions)) % folds
    return order[place]


def held_out(rivals: Sequence[Signals], choose: Choose, value: Value, fold_of: Ints) -> Floats | None:
    """The points of every question under thresholds chosen on the other folds; None where they allow none.

    `rivals` as in `cross_validated`; `fold_of`: the number of each question's fold.
    """
    points = np.zeros(len(rivals[0]))
    for fold in np.unique(fold_of):
        held = fold_of == fold
        try:
            settings = [choose(rival.where(~held)) for rival in rivals]
        except CalibrationError:
            return None
        values = [value(rival.where(~held), each) for rival, each in zip(rivals, settings, strict=True)]
        best = int(np.argmax(values))
        points[held] = replay(rivals[best].where(held), settings[best]).points
    return points


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
