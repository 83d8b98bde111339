"""Ranks with the project's own cross-encoder: by the probability that a document answers the question."""

import math
from collections.abc import Sequence

from chassis.models.encoders import shared_cross_encoder
from chassis.models.windows import question_text
from services.reranker.engine import Photo, Reranker


class BuiltinReranker(Reranker):
    """`Reranker` by the model that came with the platform. The photo is not looked at."""

    def __init__(self) -> None:
        self._model = shared_cross_encoder()
        self.name = self._model.name

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        entity: str | None,
        photo: Photo | None = None,
        fine_top: int | None = None,
    ) -> list[float]:
        """Return a probability for each document, in order; of a long document its best part counts."""
        windows = self._model.windows(question_text(query, entity), documents)
        best = [-math.inf] * len(documents)
        for window, reading in zip(windows, self._model.read(windows), strict=True):
            best[window.passage] = max(best[window.passage], reading.answers)
        return [0.5 + 0.5 * math.tanh(answers / 2) for answers in best]
