"""Scores to probabilities: a logistic curve over named features, stored as JSON beside its engine."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LogisticCurve:
    """`probability = 1 / (1 + exp(-(intercept + coefficients . features)))`."""

    intercept: float
    coefficients: tuple[float, ...]

    @classmethod
    def load(cls, path: Path, features: Sequence[str]) -> "LogisticCurve":
        """Read what `chassis.fitting` wrote; ValueError if it was fitted on other features."""
        stored = json.loads(path.read_text("utf-8"))
        if list(stored["coefficients"]) != list(features):
            raise ValueError(f"{path.name} was fitted on other features; run the training script again")
        return cls(stored["intercept"], tuple(stored["coefficients"].values()))

    def probability(self, vector: Sequence[float]) -> float:
        """In 0..1, for the features in the order of the coefficients."""
        weighted = zip(self.coefficients, vector, strict=True)
        logit = self.intercept + sum(weight * value for weight, value in weighted)
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))
