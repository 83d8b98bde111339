"""What is to be reached, and how thresholds are chosen for it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from evaluation.calibration.ceiling import Guarantee, through
from evaluation.calibration.estimate import Choose
from evaluation.calibration.grid import Objective, Search
from evaluation.calibration.replay import REPLAYED, CalibrationError, Cutoffs, Signals, rates, replay


class Best(StrEnum):
    """What an exhaustive search looks for."""

    TRUTHFULNESS = "truthfulness"
    ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True)
class Aim:
    """The best of something, found by search; or with a `guarantee`, the most answers that it allows."""

    objective: Objective = field(default_factory=Objective)
    guarantee: Guarantee | None = None
    tuned: Collection[str] = REPLAYED

    def chooser(self, present: Cutoffs) -> Choose:
        """How thresholds are chosen on some questions. Raises, when called, `CalibrationError`."""

        def search(signals: Signals) -> Cutoffs:
            return Search(present, self.objective, self.tuned).best(signals)

        def promise(signals: Signals) -> Cutoffs:
            assert self.guarantee is not None
            return self.guarantee.choose(signals, through(present))

        return search if self.guarantee is None else promise

    def value(self, signals: Signals, cutoffs: Cutoffs) -> float:
        """How good a setting is, to choose among runs."""
        found = rates(replay(signals, cutoffs).points)
        if self.ceiling is None:
            return found.truthfulness
        return found.accuracy + 0.5 * found.acceptable

    @property
    def ceiling(self) -> float | None:
        """The most that may be answered wrongly, if there is such."""
        return self.objective.ceiling if self.guarantee is None else self.guarantee.ceiling

    @property
    def told(self) -> str:
        """In a sentence."""
        if self.ceiling is None:
            return "The best truthfulness."
        wrong = f"{100 * self.ceiling:g} % wrong among all questions"
        if self.guarantee is None:
            return f"The most accuracy with at most {wrong} where it was chosen; no guarantee elsewhere."
        wrong += ", conversations counting alike"
        if self.guarantee.confidence is None:
            return f"At most {wrong}, on average over calibrations (conformal risk control)."
        sure = f"{100 * self.guarantee.confidence:g} %"
        return f"At most {wrong}, in {sure} of all calibrations (Learn then Test)."


def aim_of(
    best: Best | None,
    ceiling: float | None,
    confidence: float | None,
    tuned: Collection[str],
) -> Aim:
    """What a command asks for. Raises `CalibrationError` for what does not go together."""
    unknown = [name for name in tuned if name not in REPLAYED]
    if unknown:
        raise CalibrationError(f"{unknown[0]} cannot be tuned by replay; choose among {', '.join(REPLAYED)}.")
    if ceiling is None:
        if best is Best.ACCURACY or confidence is not None:
            raise CalibrationError("Accuracy and a confidence need a --ceiling on wrong answers.")
        return Aim(tuned=tuned)
    if best is Best.TRUTHFULNESS:
        raise CalibrationError("Either the best truthfulness, or a ceiling on wrong answers.")
    guarantee = Guarantee(ceiling, confidence)
    if best is Best.ACCURACY:
        if confidence is not None:
            raise CalibrationError("Accuracy under a ceiling is found by search: it has no confidence.")
        return Aim(Objective(ceiling), tuned=tuned)
    if set(tuned) != set(REPLAYED):
        raise CalibrationError("A guarantee moves all thresholds of the answer together; leave out --tune.")
    return Aim(guarantee=guarantee)
