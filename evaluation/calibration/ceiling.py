"""Thresholds that keep a ceiling on wrong answers by a guarantee, not only where they were chosen.

Conformal risk control (Angelopoulos, Bates, Fisch, Lei and Schuster, "Conformal Risk Control", ICLR 2024,
theorem 1) bounds the mean risk over all calibrations; Learn then Test (Angelopoulos, Bates, Candès, Jordan
and Lei, "Learn then Test", 2021) bounds the risk itself in a share `confidence` of all calibrations. Both
assume that conversations are exchangeable: those to come are like those that were calibrated with. Neither
assumes anything of the signals. The loss of a conversation is a share of its questions, so it lies in 0..1;
what is bounded is the mean over conversations, which is not the share of all questions where long ones are
worse. Where no thresholds of the family will do, nothing is promised: theorem 1 then takes it that nothing is
answered.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Guarantee:
    """`ceiling`: on the share of all questions answered wrongly. `confidence`: with which probability over
    calibrations it holds; None bounds the mean over calibrations instead.
    """

    ceiling: float
    confidence: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.ceiling < 1.0:
            raise CalibrationError("A ceiling lies between 0 and 1.")
        if self.confidence is not None and not 0.0 < self.confidence < 1.0:
            raise CalibrationError("A confidence lies between 0 and 1.")

    @property
    def fewest_sessions(self) -> int:
        """How many conversations it takes even if none of them has a wrong answer."""
        if self.confidence is None:
            return math.ceil(1.0 / self.ceiling - 1.0 - _SAME)
        return math.ceil(math.log(1.0 - self.confidence) / math.log1p(-self.ceiling) - _SAME)

    def choose(self, signals: Signals, path: Sequence[Cutoffs]) -> Cutoffs:
        """The loosest thresholds of the path for which it holds; the path goes from loose to strict.

        Raises `CalibrationError`: too few conversations, or too many wrong answers even at the strict end.
        """
        sure = "" if self.confidence is None else f" with a confidence of {100 * self.confidence:g} %"
        about = f"A ceiling of {100 * self.ceiling:g} %{sure}"
        if signals.sessions < self.fewest_sessions:
            raise CalibrationError(
                f"{about} takes at least {self.fewest_sessions} conversations to calibrate with; "
                f"there are {signals.sessions}."
            )
        chosen = len(path)
        while chosen > 0 and self._holds(losses(signals, path[chosen - 1])):
            chosen -= 1
        if chosen == len(path):
            left = float(losses(signals, path[-1]).mean())
            raise CalibrationError(
                f"{about} cannot be promised from these answers: "
                f"even the strictest thresholds break it, or leave too few answers ({100 * left:.1f} %)."
            )
        return path[chosen]

    def _holds(self, lost: Floats) -> bool:
        """Conformal risk control for losses of at most 1, or a test of the risk against the ceiling."""
        if self.confidence is None:
            return float(lost.sum() + 1.0) / (len(lost) + 1.0) <= self.ceiling + _SAME
        return p_value(lost, self.ceiling) <= 1.0 - self.confidence + _SAME


def losses(signals: Signals, cutoffs: Cutoffs) -> Floats:
    """Return the share answered wrongly of each conversation."""
    sums, counts = by_conversation(signals, replay(signals, cutoffs).points < 0.0)
    return sums / counts


def p_value(lost: Floats, ceiling: float) -> float:
    """Return an upper bound of the probability of so small a mean loss if the risk is above the ceiling.

    The binomial tail for losses of 0 and 1; otherwise the smaller of Hoeffding's and Bentkus's bounds.
    """
    from scipy.special import rel_entr
    from scipy.stats import binom

    count, total = len(lost), float(lost.sum())
    if np.all((lost == 0.0) | (lost == 1.0)):
        return float(binom.cdf(round(total), count, ceiling))
    mean = min(total / count, ceiling)
    hoeffding = math.exp(-count * (rel_entr(mean, ceiling) + rel_entr(1.0 - mean, 1.0 - ceiling)))
    return min(1.0, hoeffding, math.e * float(binom.cdf(math.ceil(total - 1e-9), count, ceiling)))
