"""A lexical reranker: needs no model, answers in milliseconds, and its score is a probability."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from services.reranker.engines.features import Features, measure
from services.reranker.engines.question import QuestionReader
from services.reranker.engines.text import analyse

WEIGHTS = Path(__file__).with_name("pocket_weights.json")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from `Features` to the probability of relevance."""

    intercept: float
    coefficients: tuple[float, ...]

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> "Calibration":
        """Read what `services.reranker.train_pocket` wrote; ValueError if the features have changed since."""
        stored = json.loads(path.read_text("utf-8"))
        names = list(Features.__dataclass_fields__)
        if list(stored["coefficients"]) != names:
            raise ValueError(f"{path.name} was fitted on other features; run the training script again")
        return cls(stored["intercept"], tuple(stored["coefficients"].values()))

    def probability(self, features: Features) -> float:
        """Relevance in 0..1."""
        weighted = zip(self.coefficients, features.vector(), strict=True)
        logit = self.intercept + sum(weight * value for weight, value in weighted)
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


class PocketReranker:
    """Terms, relation synonyms, entity, answer type and proximity under a fitted logistic curve."""

    name = "pocket-lexical"

    def __init__(self, calibration: Calibration | None = None) -> None:
        self._calibration = calibration or Calibration.load()
        self._reader = QuestionReader()

    def rerank(self, query: str, documents: Sequence[str], entity: str | None) -> list[float]:
        """Probability for each document, in order."""
        asked = self._reader.read(query, entity)
        return [self._calibration.probability(measure(asked, analyse(text))) for text in documents]
