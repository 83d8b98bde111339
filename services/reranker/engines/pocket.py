"""A lexical reranker: needs no model, answers in milliseconds, and its score is a probability."""

from collections.abc import Sequence
from pathlib import Path

from chassis.calibration import LogisticCurve
from chassis.models.wanted import while_wanted
from services.reranker.engine import SAMPLE, Photo
from services.reranker.engines.features import Features, ask, measure

WEIGHTS = Path(__file__).with_name("pocket_weights.json")


def load_curve(path: Path = WEIGHTS) -> LogisticCurve:
    """From `Features` to the probability of relevance, as `services.reranker.train_pocket` fitted it."""
    return LogisticCurve.load(path, list(Features.__dataclass_fields__))


class PocketReranker:
    """Coverage of the question, proximity, answer type and thing under a fitted logistic curve."""

    name = "pocket-lexical"

    def __init__(self, curve: LogisticCurve | None = None) -> None:
        self._curve = curve or load_curve()

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        entity: str | None,
        photo: Photo | None = None,
        fine_top: int | None = None,
    ) -> list[float]:
        """Probability for each document, in order; the photo is not looked at."""
        asked = ask(query, entity)
        return [self._curve.probability(measure(asked, text).vector()) for text in while_wanted(documents)]

    def probe(self) -> list[float]:
        """Score a sample."""
        return self.rerank(SAMPLE[0], SAMPLE[1:], None)
