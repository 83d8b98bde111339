"""QA-Dragon's coarse-to-fine reranker (section 3.6.2): a Q-Former filters, an LLM reranker judges.

The models are behind plain functions, so that a service may put a micro-batcher in front of each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from services.reranker.engine import SAMPLE, Photo, Reranker, with_entity

Result = TypeVar("Result")
Vectors = NDArray[np.float32]
Asked = tuple[str, Photo]
Pair = tuple[str, str]
"""A question and a document."""
FineStage = Callable[[Sequence[Pair]], Sequence[float]]
"""P(yes) of each pair (equation 3)."""


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """`coarse_top` and `fine_top` are the paper's K1 and K2, the thresholds its tau_coarse and tau_fine.

    The paper gives no values. `coarse_threshold`: a cosine; None where nobody has fitted one, so that the
    coarse stage only chooses K1 documents and the score is the fine stage's alone.
    """

    coarse_top: int = 32
    coarse_threshold: float | None = None
    fine_top: int = 10
    fine_threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class CoarseStage:
    """The Q-Former's two towers: unit vectors (n, d) of each question with its photo, (d,) of each text."""

    question_vectors: Callable[[Sequence[Asked]], Sequence[Vectors]]
    text_vectors: Callable[[Sequence[str]], Sequence[Vectors]]

    def score(self, query: str, photo: Photo, documents: Sequence[str]) -> list[float]:
        """Equation (2): the best cosine of any query token with the document's [CLS]."""
        vectors = self.question_vectors([(query, photo)])[0]
        read = in_order_of_length(documents, self.text_vectors)
        return [float(np.max(vectors @ vector)) for vector in read]


class CascadeReranker(Reranker):
    """`Reranker` in two stages, either of which may be off: its factor is then 1 and it discards nothing."""

    def __init__(
        self, coarse: CoarseStage | None, fine: FineStage | None, cutoffs: Cutoffs, name: str = "cascade"
    ) -> None:
        self.name = name
        self._coarse = coarse
        self._fine = fine
        self._cutoffs = cutoffs

    def rerank(
        self,
        query: str,
        documents: Sequence[str],
        entity: str | None,
        photo: Photo | None = None,
        fine_top: int | None = None,
    ) -> list[float]:
        """The two stages' scores, multiplied where both can be; 0 for what either stage discards.

        The coarse stage discards what `fine_top` leaves no room for; with 0 its own scores are the result.
        """
        if not documents:
            return []
        fine = self._fine if self._coarse is None or fine_top != 0 else None
        tau = self._cutoffs.coarse_threshold if self._coarse and photo is not None else None
        scores = self._keep_best(query, documents, photo, fine_top or None, tau)
        threshold = tau or 0.0
        if fine is not None:
            question = with_entity(query, entity)
            judged = in_order_of_length(
                [documents[index] for index in scores],
                lambda texts: fine([(question, text) for text in texts]),
            )
            factors = dict.fromkeys(scores, 1.0) if tau is None else scores
            scores = {index: factors[index] * score for index, score in zip(scores, judged, strict=True)}
            threshold = self._cutoffs.fine_threshold * (1.0 if tau is None else tau)
        results = [scores.get(index, 0.0) for index in range(len(documents))]
        retained = best(results, self._cutoffs.fine_top, threshold)
        return [score if index in retained else 0.0 for index, score in enumerate(results)]

    def probe(self) -> None:
        """Each stage by itself: a sample that the first discards would leave the second cold."""
        if self._coarse:
            self._coarse.score(SAMPLE[0], np.full((64, 64, 3), 128, np.uint8), SAMPLE[1:])
        if self._fine:
            self._fine([SAMPLE])

    def _keep_best(
        self, query: str, documents: Sequence[str], photo: Photo | None, most: int | None, tau: float | None
    ) -> dict[int, float]:
        """Return the documents that reach the fine stage, by place, with the coarse scores (0..1).

        Without a photo there is nothing to compare: the space was trained on photos with texts, and a cosine
        of two texts has no meaning in it. The order in hand stands, as 1/2, 1/3, 1/4, ….
        """
        if self._coarse is None:
            return dict.fromkeys(range(len(documents)), 1.0)
        if photo is None:
            scores = [1 / (place + 2) for place in range(len(documents))]
        else:
            scores = self._coarse.score(query, photo, documents)
            if tau is None:  # an order, of negative cosines too
                scores = [(1 + cosine) / 2 for cosine in scores]
        top = self._cutoffs.coarse_top if most is None else min(most, self._cutoffs.coarse_top)
        return {index: scores[index] for index in sorted(best(scores, top, tau or 0.0))}


def best(scores: Sequence[float], most: int, threshold: float) -> set[int]:
    """Places of the `most` highest scores that reach the threshold; of equals, the first."""
    reaching = [index for index, score in enumerate(scores) if score >= threshold]
    return set(sorted(reaching, key=lambda index: -scores[index])[:most])


def in_order_of_length(
    texts: Sequence[str], forward: Callable[[Sequence[str]], Sequence[Result]]
) -> list[Result]:
    """`forward(texts)`, called with the longest text first: batches of like lengths need little padding."""
    order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
    results = forward([texts[index] for index in order]) if order else []
    by_index = dict(zip(order, results, strict=True))
    return [by_index[index] for index in range(len(texts))]
