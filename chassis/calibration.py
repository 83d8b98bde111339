"""Scores to probabilities: a logistic curve over named features, stored as JSON beside its engine."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LogisticCurve:
    """`probability = 1 / (1 + exp(-(intercept + coefficients . features)))`."""

    intercept: float
    coefficients: tuple[float, ...]

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], features: Sequence[str]) -> "LogisticCurve":
        """Create it from `intercept` and `coefficients`; ValueError if they were fitted on other features."""
        if list(stored["coefficients"]) != list(features):
            raise ValueError("the curve was fitted on other features; run the training script again")
        return cls(stored["intercept"], tuple(stored["coefficients"].values()))

    def probability(self, vector: Sequence[float]) -> float:
        """Return the probability for the features, in the order of the coefficients."""
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, self.logit(vector)))))

    def logit(self, vector: Sequence[float]) -> float:
        """The log odds of that probability."""
        weighted = zip(self.coefficients, vector, strict=True)
        return self.intercept + sum(weight * value for weight, value in weighted)
