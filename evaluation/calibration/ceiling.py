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

from evaluation.calibration.replay import ANSWER, CalibrationError, Cutoffs, Floats, Signals, replay

_SAME = 1e-12


STEPS = 200


def through(present: Cutoffs, steps: int = STEPS) -> list[Cutoffs]:
    """Return settings from all thresholds of the answer at 0, through the present ones, to all at 1.

    Along the way nothing is given that was withheld before. The router's thresholds stay: a draft that is not
    given at once is not withheld, it goes the whole way.
    """
    shares = np.linspace(0.0, 1.0, steps // 2 + 1)
    loose = [{name: getattr(present, name) * share for name in ANSWER} for share in shares]
    strict = [
        {name: getattr(present, name) + (1.0 - getattr(present, name)) * share for name in ANSWER}
        for share in shares[1:]
    ]
    rounded = ({name: round(value, 4) for name, value in step.items()} for step in (*loose, *strict))
    return [present.with_values(values) for values in rounded]


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
        if signals.sessions < self.fewest_sessions:
            raise CalibrationError(
                f"A ceiling of {100 * self.ceiling:g} %{self._told} takes at least {self.fewest_sessions} "
                f"conversations to calibrate with; there are {signals.sessions}."
            )
        chosen = len(path)
        while chosen > 0 and self._holds(signals, path[chosen - 1]):
            chosen -= 1
        if chosen == len(path):
            left = float(self.losses(signals, path[-1]).mean())
            raise CalibrationError(
                f"A ceiling of {100 * self.ceiling:g} %{self._told} cannot be promised from these answers: "
                f"even the strictest thresholds break it, or leave too few answers ({100 * left:.1f} %)."
            )
        return path[chosen]

    def _holds(self, signals: Signals, cutoffs: Cutoffs) -> bool:
        """Conformal risk control for losses of at most 1, or the test whether the risk is above the
        ceiling."""
        losses = self.losses(signals, cutoffs)
        if self.confidence is None:
            return float(losses.sum() + 1.0) / (len(losses) + 1.0) <= self.ceiling + _SAME
        return p_value(losses, self.ceiling) <= 1.0 - self.confidence + _SAME

    @property
    def _told(self) -> str:
        return "" if self.confidence is None else f" with a confidence of {100 * self.confidence:g} %"

    def losses(self, signals: Signals, cutoffs: Cutoffs) -> Floats:
        """Return the share answered wrongly of each conversation."""
        each = (replay(signals, cutoffs).points < 0.0).astype(np.float64)
        _, session = np.unique(signals.session, return_inverse=True)
        losses: Floats = np.bincount(session, each) / np.bincount(session)
        return losses


def p_value(losses: Floats, ceiling: float) -> float:
    """How probable so small a mean loss is if the risk is above the ceiling, at most.

    The binomial tail for losses of 0 and 1; otherwise the smaller of Hoeffding's and Bentkus's bounds.
    """
    count, total = len(losses), float(losses.sum())
    if count == 0:
        return 1.0
    if np.all((losses == 0.0) | (losses == 1.0)):
        return binomial_tail(round(total), count, ceiling)
    mean = total / count
    hoeffding = math.exp(-count * _divergence(min(mean, ceiling), ceiling))
    bentkus = math.e * binomial_tail(math.ceil(total - 1e-9), count, ceiling)
    return min(1.0, hoeffding, bentkus)


def binomial_tail(most: int, count: int, share: float) -> float:
    """P(at most `most` of `count`), each with probability `share` in 0..1, both excluded."""
    if most >= count:
        return 1.0
    log_share, log_rest = math.log(share), math.log1p(-share)

    def log_choose(k: int) -> float:
        return math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)

    terms = (math.exp(log_choose(k) + k * log_share + (count - k) * log_rest) for k in range(most + 1))
    return min(1.0, math.fsum(terms))


def _divergence(mean: float, ceiling: float) -> float:
    """Kullback-Leibler's, of a coin that shows `mean` from one that shows `ceiling`."""
    wrong = mean * math.log(mean / ceiling) if mean > 0.0 else 0.0
    return wrong + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - ceiling)) if mean < 1.0 else wrong
