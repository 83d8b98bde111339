"""Families of ever stricter thresholds, of which a guarantee picks one."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from evaluation.calibration.cutoffs import ANSWER, CalibrationError, Cutoffs
from evaluation.calibration.grid import Objective, Search
from evaluation.calibration.replay import rates, replay
from evaluation.calibration.signals import Signals

STEPS = 200
_CEILINGS = 12
_DECIMALS = 4
Path = Sequence[Cutoffs]
"""From the loosest to the strictest; along it nothing is given that was withheld before."""


class PathKind(StrEnum):
    """Where the family comes from."""

    PRESENT = "present"
    LEARNED = "learned"


def through(present: Cutoffs, steps: int = STEPS) -> list[Cutoffs]:
    """From all thresholds of the answer at 0, straight through the present ones, to all at 1.

    The router's stay: a draft that is not given at once is not withheld, it goes the whole way.
    """
    halves = np.linspace(0.0, 1.0, steps // 2 + 1)
    loose = [{name: getattr(present, name) * share for name in ANSWER} for share in halves]
    strict = [
        {name: getattr(present, name) + (1.0 - getattr(present, name)) * share for name in ANSWER}
        for share in halves[1:]
    ]
    rounded = ({name: round(value, _DECIMALS) for name, value in step.items()} for step in (*loose, *strict))
    return [present.with_values(values) for values in rounded]


def learned(signals: Signals, present: Cutoffs) -> list[Cutoffs]:
    """Through the best settings under ever lower ceilings, each at least as strict as the one before.

    The questions it is learned from must not be those that a guarantee is then drawn from.
    """
    path = [present.with_values(dict.fromkeys(ANSWER, 0.0))]
    highest = rates(replay(signals, path[0]).points).hallucination
    for share in np.linspace(1.0, 0.0, _CEILINGS):
        try:
            best = Search(present, Objective(highest * float(share)), ANSWER).best(signals)
        except CalibrationError:
            break
        path.append(_at_least(best, path[-1]))
    strictest = through(path[-1], STEPS)[STEPS // 2 :]
    return [*path, *strictest[1:]]


def _at_least(cutoffs: Cutoffs, before: Cutoffs) -> Cutoffs:
    return cutoffs.with_values({name: max(getattr(cutoffs, name), getattr(before, name)) for name in ANSWER})


def halves(signals: Signals, seed: int) -> tuple[Signals, Signals]:
    """Two halves by conversation, at random."""
    sessions = np.random.default_rng(seed).permutation(np.unique(signals.session))
    first = np.isin(signals.session, sessions[: len(sessions) // 2])
    return signals.where(first), signals.where(~first)
