"""InfoNCE between questions with photos and texts (van den Oord et al. 2018), and recall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import cross_entropy, normalize

from training.heads.epochs import SCORE, TIE
from training.heads.settings import CoarseRerankerConfig

DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Encoded:
    """`states` (samples, N_q, hidden) of questions with photos, `texts` (texts, d) of unit length; by sample
    the place of the text that answers and of those that do not.
    """

    states: Any
    texts: Any
    positives: tuple[int, ...]
    negatives: tuple[tuple[int, ...], ...]

    def pool(self, places: Sequence[int]) -> list[int]:
        """Return the texts of some samples, each once."""
        return sorted({text for n in places for text in (self.positives[n], *self.negatives[n])})


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of questions whose text is among the first k of a part's texts, and the mean reciprocal rank."""

    questions: int
    texts: int
    at: dict[int, float]
    mrr: float

    def __str__(self) -> str:
        recalls = ", ".join(f"recall@{k} {share:.3f}" for k, share in self.at.items())
        return f"{recalls}, MRR {self.mrr:.3f} ({self.questions} questions, {self.texts} texts)"


class ContrastiveLearner:
    """Learns a projection (weight, bias), beginning with `start`. The towers are frozen: they ran once."""

    def __init__(
        self,
        encoded: Encoded,
        validation: Sequence[int],
        config: CoarseRerankerConfig,
        start: tuple[Any, Any],
    ) -> None:
        self._encoded, self._validation, self._config = encoded, validation, config
        weight, bias = (each.detach().clone().float().requires_grad_(True) for each in start)
        self.head = (weight, bias)
        self.parameters = {"weight": weight, "bias": bias}
        recipe = config.recipe
        self.optimizer = torch.optim.AdamW(self.head, recipe.learning_rate, weight_decay=recipe.weight_decay)

    def loss(self, places: Sequence[int]) -> Any:
        """See `Learner`."""
        # Each text once: one that answers two questions is no negative of either.
        pool = self._encoded.pool(places)
        questions = project(self._encoded.states[list(places)], *self.head)
        scores = similarities(questions, self._encoded.texts[pool])
        answers = torch.tensor([pool.index(self._encoded.positives[n]) for n in places])
        return cross_entropy(scores / self._config.temperature, answers.to(scores.device))

    def validate(self) -> dict[str, float]:
        """See `Learner`."""
        places = list(self._validation)
        with torch.no_grad():
            mrr = recall(project(self._encoded.states[places], *self.head), self._encoded, places).mrr
        return {SCORE: mrr, TIE: 0.0, "validation/mrr": mrr}


def project(states: Any, weight: Any, bias: Any) -> Any:
    """Return unit vectors (samples, N_q, d)."""
    return normalize(states @ weight.T + bias, dim=-1)


def similarities(vectors: Any, texts: Any) -> Any:
    """Equation (2) of QA-Dragon: (samples, texts), of each one's query tokens (samples, N_q, d) the best."""
    return (vectors @ texts.T).amax(dim=1)


def recall(vectors: Any, encoded: Encoded, places: Sequence[int]) -> Recall:
    """Return the recall of the samples at `places` with these `vectors`, among all texts of these samples."""
    pool = encoded.pool(places)
    scores = similarities(vectors, encoded.texts[pool])
    answers = torch.tensor([pool.index(encoded.positives[n]) for n in places], device=scores.device)
    own = scores.gather(1, answers[:, None])
    others = ~(scores <= own)  # NaN counts as better, so that it ranks last
    ranks = 1 + others.sum(dim=1).double()
    at = {k: float((ranks <= k).double().mean()) for k in DEPTHS}
    return Recall(len(places), len(pool), at, float((1 / ranks).mean()))
