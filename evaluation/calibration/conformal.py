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
from enum import StrEnum

import numpy as np

from evaluation.calibration.cutoffs import CalibrationError, Cutoffs
from evaluation.calibration.replay import replay
from evaluation.calibration.signals import Floats, Signals

_SAME = 1e-12
_STARTS = 10


class Among(StrEnum):
    """Wrong answers among which questions: all, or those that are answered."""

    ALL = "all"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """`ceiling`: on the share answered wrongly. `confidence`: with which probability over calibrations it
    holds; None bounds the mean over calibrations instead. `among`: shares of what; of the answered ones
    only with a `confidence`, since that share need not fall as more is withheld.
    """

    ceiling: float
    confidence: float | None = None
    among: Among = Among.ALL

    def __post_init__(self) -> None:
        if not 0.0 < self.ceiling < 1.0:
            raise CalibrationError("A ceiling lies between 0 and 1.")
        if self.confidence is None and self.among is Among.ANSWERED:
            raise CalibrationError("A ceiling among the answered questions needs a confidence.")
        if self.confidence is not None and not 0.0 < self.confidence < 1.0:
            raise CalibrationError("A confidence lies between 0 and 1.")

    @property
    def fewest_sessions(self) -> int:
        """How many conversations it takes even if none of them has a wrong answer."""
        if self.confidence is None:
            return math.ceil(1.0 / self.ceiling - 1.0 - _SAME)
        return math.ceil(math.log(self._error) / math.log1p(-self.ceiling) - _SAME)

    def choose(self, signals: Signals, path: Sequence[Cutoffs]) -> Cutoffs:
        """The loosest thresholds of the path for which it holds; the path goes from loose to strict.

        Raises `CalibrationError`: too few conversations, or too many wrong answers even at the strict end.
        """
        if signals.sessions < self.fewest_sessions:
            raise CalibrationError(
                f"A ceiling of {100 * self.ceiling:g} %{self._told} takes at least {self.fewest_sessions} "
                f"conversations to calibrate with; there are {signals.sessions}."
            )
        chosen = min(self._loosest_from(signals, path, start) for start in self._starts(len(path)))
        if chosen == len(path):
            left = float(self.losses(signals, path[-1]).mean())
            raise CalibrationError(
                f"A ceiling of {100 * self.ceiling:g} %{self._told} cannot be promised from these answers: "
                f"even the strictest thresholds break it, or leave too few answers ({100 * left:.1f} %)."
            )
        return path[chosen]

    def _loosest_from(self, signals: Signals, path: Sequence[Cutoffs], start: int) -> int:
        """How far it holds from a place on the path towards looser ones; the path's length: not even
        there."""
        chosen = len(path)
        for place in range(start, -1, -1):
            if not self._holds(signals, path[place]):
                break
            chosen = place
        return chosen

    def _starts(self, steps: int) -> list[int]:
        """Where testing begins: at the strictest, and among the answered, of whom there are none there, at
        several places, each with its share of the permitted error (Learn then Test, section 4).
        """
        if self.among is Among.ALL:
            return [steps - 1]
        return [(steps - 1) * (place + 1) // _STARTS for place in range(_STARTS)]

    def _holds(self, signals: Signals, cutoffs: Cutoffs) -> bool:
        """Conformal risk control for losses of at most 1, or the test whether the risk is above the
        ceiling."""
        losses = self.losses(signals, cutoffs)
        if self.confidence is None:
            return float(losses.sum() + 1.0) / (len(losses) + 1.0) <= self.ceiling + _SAME
        return self._p_value(signals, cutoffs, losses) <= self._error + _SAME

    @property
    def _error(self) -> float:
        """How probable a single test may err."""
        error = 1.0 - (self.confidence or 0.0)
        return error if self.among is Among.ALL else error / _STARTS

    def _p_value(self, signals: Signals, cutoffs: Cutoffs, losses: Floats) -> float:
        """Single questions that are answered are so many coins; a conversation's share is only bounded."""
        if self.among is Among.ANSWERED and len(losses) == len(signals):
            replayed = replay(signals, cutoffs)
            wrong, answered = np.count_nonzero(replayed.points < 0.0), np.count_nonzero(replayed.given)
            return binomial_tail(int(wrong), int(answered), self.ceiling)
        return p_value(losses, self.ceiling)

    @property
    def _told(self) -> str:
        return "" if self.confidence is None else f" with a confidence of {100 * self.confidence:g} %"

    def losses(self, signals: Signals, cutoffs: Cutoffs) -> Floats:
        """The loss of each conversation, in 0..1.

        Among the answered, a refusal counts as much as the ceiling: the mean is below it exactly if wrong
        answers are rarer among the answered than that.
        """
        replayed = replay(signals, cutoffs)
        wrong = (replayed.points < 0.0).astype(np.float64)
        each = wrong if self.among is Among.ALL else np.where(replayed.given, wrong, self.ceiling)
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
