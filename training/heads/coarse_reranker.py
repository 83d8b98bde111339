"""The coarse reranker's head: a projection of BLIP-2's query tokens for (question, photo).

It learns to match the texts that answer by InfoNCE (van den Oord et al. 2018); BLIP-2 itself is frozen.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, normalize

from chassis.accelerator import Placement, open_accelerator
from chassis.models.qformer import DEFAULT_MODEL, QFormer, witness
from evaluation.data.progress import bar
from services.reranker.engines.coarse_head import CoarseHead
from training.config import WrongConfig
from training.heads.epochs import SCORE, TIE, Parts, fit, pixels, read_parts
from training.heads.settings import CoarseRerankerConfig
from training.runs import RunFolder
from training.samples import PassagesSample, Task

CHECKPOINT = "head.safetensors"
DEPTHS = (1, 5, 10)
MAX_SIDE = 672
"""Photos are scaled down to it, as in the service."""
_MOST_THRESHOLD = 0.99


def train_coarse_reranker(config: CoarseRerankerConfig, run: RunFolder) -> CoarseHead:
    """Read, encode, fit, compare with BLIP-2's photo vectors, and write the checkpoint.

    Raises `UnreadableData`, `WrongConfig` and `WrongWeights`.
    """
    recipe = config.recipe
    config = config.model_copy(update={"model": config.model or DEFAULT_MODEL})
    parts: Parts[Any] = read_parts(config.data, Task.PASSAGES, recipe.validation, recipe.seed)
    run.leave_out(parts.rejected)
    photos = [photo for photo in parts.photos if photo is not None]
    if len(photos) < len(parts.photos):
        raise WrongConfig("The coarse reranker learns from questions with a photo only.")
    qformer = QFormer.from_pretrained(config.model, open_accelerator(Placement(config.device, "float32")))
    encoded = _encode(qformer, parts.samples, photos, recipe.batch_size)
    projection = qformer.model.vision_projection
    learner = ContrastiveLearner(encoded, parts.validation, config, (projection.weight, projection.bias))
    chosen = fit(learner, parts.training, recipe, run)
    held_out = list(parts.held_out)
    alone = [qformer.photo_vectors([pixels(photos[place], MAX_SIDE)])[0] for place in held_out]
    before = recall(torch.from_numpy(np.stack(alone)).to(encoded.states.device), encoded, held_out)
    with torch.no_grad():
        after = recall(project(encoded.states[held_out], *learner.head), encoded, held_out)
        reached = _cosines(encoded, learner, parts.validation)
    threshold = float(np.quantile(reached, 1 - config.reached_by))
    weight, bias = (each.detach().cpu().numpy() for each in learner.head)
    head = CoarseHead(weight, bias, min(_MOST_THRESHOLD, max(0.0, threshold)), config.model, witness(qformer))
    head.save(run.path / CHECKPOINT)
    run.finish(
        {
            "kind": "coarse-reranker",
            "base_model": config.model,
            "samples": parts.sizes,
            "chosen": chosen,
            "threshold": head.threshold,
            "held_out": {"photo_alone": asdict(before), "head": asdict(after)},
        }
    )
    run.say(f"held out, by the photo alone: {before}")
    run.say(f"held out, by the head: {after}")
    return head


def _encode(
    qformer: QFormer, samples: Sequence[PassagesSample], photos: Sequence[Path], batch_size: int
) -> "Encoded":
    texts = sorted({text for each in samples for text in (each.positive, *each.negatives)})
    places = {text: place for place, text in enumerate(texts)}
    states, vectors = [], []
    for start in bar(range(0, len(samples), batch_size), "reading questions and photos"):
        several = range(start, min(start + batch_size, len(samples)))
        states += qformer.encode_questions(
            [(samples[n].question, pixels(photos[n], MAX_SIDE)) for n in several]
        )
    for start in bar(range(0, len(texts), batch_size), "reading texts"):
        vectors += qformer.text_vectors(texts[start : start + batch_size])
    device = qformer.accelerator.device
    return Encoded(
        torch.from_numpy(np.stack(states)).to(device),
        torch.from_numpy(np.stack(vectors)).to(device),
        tuple(places[each.positive] for each in samples),
        tuple(tuple(places[text] for text in each.negatives) for each in samples),
    )


def _cosines(encoded: "Encoded", learner: "ContrastiveLearner", places: Sequence[int]) -> Any:
    """Return (places,): the similarity of each question and the text that answers it."""
    vectors = project(encoded.states[list(places)], *learner.head)
    texts = encoded.texts[[encoded.positives[n] for n in places]]
    return (vectors @ texts[:, :, None]).amax(dim=(1, 2)).double().cpu().numpy()


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
        # Each text once: one that answers two questions is no negative of either.
        pool = self._encoded.pool(places)
        questions = project(self._encoded.states[list(places)], *self.head)
        scores = similarities(questions, self._encoded.texts[pool])
        answers = torch.tensor([pool.index(self._encoded.positives[n]) for n in places])
        return cross_entropy(scores / self._config.temperature, answers.to(scores.device))

    def validate(self) -> dict[str, float]:
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
