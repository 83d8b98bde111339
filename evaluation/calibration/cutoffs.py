"""The thresholds that can be moved after the fact, and those that the platform must be asked again for."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace


class CalibrationError(Exception):
    """Nothing to calibrate with, or nothing that would keep the promise; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """What decides last whether an answer in hand is given; each in 0..1.

    `direct_confidence`, `direct_from`: when the draft is given at once. `answer_confidence`: the reasoner's
    own doubt. `token_min`, `token_mean`: its tokens' (QA-Dragon, 3.7.2). `supported`, `borderline`,
    `judged`: the verifier's, and the model judge's where the verifier's lies between the two.
    """

    direct_confidence: float
    direct_from: float
    answer_confidence: float
    supported: float
    borderline: float
    judged: float
    token_min: float
    token_mean: float

    @classmethod
    def among(cls, thresholds: Mapping[str, float]) -> "Cutoffs":
        """Those of a whole set. Raises `CalibrationError` when one is missing."""
        missing = [name for name in REPLAYED if name not in thresholds]
        if missing:
            raise CalibrationError(
                f"The answers were not held against {missing[0]}: this pipeline has no thresholds to move."
            )
        return cls(**{name: thresholds[name] for name in REPLAYED})

    def named(self) -> dict[str, float]:
        """By name."""
        return {name: getattr(self, name) for name in REPLAYED}

    def with_values(self, values: Mapping[str, float]) -> "Cutoffs":
        """These with some others."""
        return replace(self, **values)

    def distance(self, other: "Cutoffs") -> float:
        """How far apart two settings are: the sum of the differences."""
        mine, others = self.named(), other.named()
        return sum(abs(mine[name] - others[name]) for name in REPLAYED)


REPLAYED = tuple(field.name for field in fields(Cutoffs))
ROUTER = ("direct_confidence", "direct_from")
ANSWER = tuple(name for name in REPLAYED if name not in ROUTER)

ASKED_AGAIN = ("verify_from", "same_thing", "decisive", "tau_coarse", "tau_fine")
"""They change what an answer is made from, so that no record tells what it would have been."""

EVERYTHING_SEEN: Mapping[str, float] = {
    "answer_confidence": 0.0,
    "supported": 0.0,
    "borderline": 1.0,
    "judged": 0.0,
    "token_min": 0.0,
    "token_mean": 0.0,
}
"""Overrides for a run whose every replay is exact: nothing is withheld, and the judge is always asked."""
