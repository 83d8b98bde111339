"""The loosest thresholds under a ceiling on wrong answers.

Conformal risk control (Angelopoulos et al., ICLR 2024, theorem 1) bounds the mean risk over all calibrations.
It assumes that conversations to come are like those that were calibrated with. The loss of a conversation is
the share of its questions that is answered wrongly; what is bounded is the mean over conversations, which is
not the share of all questions where long ones are worse.
"""

import math
from collections.abc import Sequence

import numpy as np

from evaluation.calibration.replay import (
    ANSWER,
    CalibrationError,
    Cutoffs,
    Floats,
    Signals,
    by_conversation,
    replay,
)

_SAME = 1e-12
_STEPS = 100


def through(present: Cutoffs) -> list[Cutoffs]:
    """Return settings from all thresholds of the answer at 0, through the present ones, to all at 1.

    Along the way nothing is given that was withheld before. The router's thresholds stay: a draft that is not
    given at once is not withheld, it goes the whole way.
    """
    now = {name: getattr(present, name) for name in ANSWER}
    shares = np.linspace(0.0, 1.0, _STEPS + 1)
    loose = [{name: value * share for name, value in now.items()} for share in shares]
    strict = [{name: value + (1.0 - value) * share for name, value in now.items()} for share in shares[1:]]
    steps = ({name: round(value, 4) for name, value in step.items()} for step in (*loose, *strict))
    return [present.with_values(step) for step in steps]


def loosest_below(ceiling: float, signals: Signals, path: Sequence[Cutoffs]) -> Cutoffs:
    """Return the loosest thresholds of a path, from loose to strict, that keep the `ceiling` (0..1).

    Raises `CalibrationError`: too few conversations, or too many wrong answers even at the strict end.
    """
    if not 0.0 < ceiling < 1.0:
        raise CalibrationError("A ceiling lies between 0 and 1.")
    fewest = math.ceil(1.0 / ceiling - 1.0 - _SAME)
    about = f"A ceiling of {100 * ceiling:g} %"
    if signals.sessions < fewest:
        raise CalibrationError(
            f"{about} takes at least {fewest} conversations to calibrate with; there are {signals.sessions}."
        )
    chosen = None
    for cutoffs in reversed(path):
        lost = losses(signals, cutoffs)
        if float(lost.sum() + 1.0) / (len(lost) + 1.0) > ceiling + _SAME:
            break
        chosen = cutoffs
    if chosen is None:
        left = float(losses(signals, path[-1]).mean())
        raise CalibrationError(
            f"{about} cannot be promised from these answers: "
            f"even the strictest thresholds break it ({100 * left:.1f} % wrong)."
        )
    return chosen


def losses(signals: Signals, cutoffs: Cutoffs) -> Floats:
    """Return the share answered wrongly of each conversation."""
    sums, counts = by_conversation(signals, replay(signals, cutoffs) < 0.0)
    return sums / counts
