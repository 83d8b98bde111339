"""Fits the coarse head by InfoNCE (van den Oord et al. 2018): each question's text among those of its batch.

Towers stay as they are, so that their vectors are computed once: 100 kB of query tokens a row with BLIP-2.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy, normalize

from services.reranker.tuning.rows import Split

_LONGEST_STEP = 1.0  # gradient norm
DEPTHS = (1, 5, 10)

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recipe:
    """`temperature` divides the cosines (BLIP-2's begins at .07); `patience`: epochs without a better MRR on
    the validation part until training stops.
    """

    epochs: int = 60
    patience: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    temperature: float = 0.07
    weight_decay: float = 1e-2
    seed: int = 20


@dataclass(frozen=True, slots=True)
class Encoded:
    """`states` (rows, N_q, hidden) of questions with photos, `texts` (texts, d) of unit length; by row the
    place of the text that answers and of those that do not.
    """

    states: Any
    texts: Any
    positives: tuple[int, ...]
    negatives: tuple[tuple[int, ...], ...]

    def pool(self, places: Sequence[int]) -> list[int]:
        """The texts of some rows, each once."""
        return sorted({text for n in places for text in (self.positives[n], *self.negatives[n])})


@dataclass(frozen=True, slots=True)
class Recall:
    """Shares of questions whose text is among the first k of a part's texts, and the mean reciprocal rank."""

    questions: int
    texts: int
    at: dict[int, float]
    mrr: float

    def __str__(self) -> str:
        found = ", ".join(f"recall@{k} {share:.3f}" for k, share in self.at.items())
        return f"{found}, MRR {self.mrr:.3f} ({self.questions} questions, {self.texts} texts)"


@dataclass(frozen=True, slots=True)
class Epoch:
    """`loss`: the mean of the training part, 0 before the first one; `mrr`: of the validation part."""

    number: int
    loss: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Fit:
    """The best epoch's head."""

    weight: Floats
    bias: Floats
    best: Epoch
    epochs: tuple[Epoch, ...]


def fit(
    encoded: Encoded,
    split: Split,
    recipe: Recipe,
    start: tuple[Any, Any],
    partial: Path,
    watch: Callable[[Epoch], None] = lambda _: None,
) -> Fit:
    """Train from `start` until validation gets no better; after each epoch `partial` holds all of it.

    A `partial` that is there already is gone on with, to the same result; whose it is, the caller knows.
    """
    weight, bias = (each.detach().clone().float().requires_grad_(True) for each in start)
    optimizer = torch.optim.AdamW([weight, bias], recipe.learning_rate, weight_decay=recipe.weight_decay)
    epochs = [Epoch(0, 0.0, _measured(encoded, weight, bias, split.validation).mrr)]
    best = (epochs[0], weight.detach().clone(), bias.detach().clone())
    if partial.is_file():
        stored = torch.load(partial, map_location=weight.device, weights_only=True)
        epochs = [Epoch(**each) for each in stored["epochs"]]
        best = (epochs[stored["best"]], *stored["best_head"])
        with torch.no_grad():
            for each, values in zip((weight, bias), stored["head"], strict=True):
                each.copy_(values)
        optimizer.load_state_dict(stored["optimizer"])
    while len(epochs) <= recipe.epochs and epochs[-1].number - best[0].number < recipe.patience:
        number = len(epochs)
        order = np.random.default_rng([recipe.seed, number]).permutation(split.training)
        loss = _train(encoded, order, (weight, bias), optimizer, recipe)
        epochs.append(Epoch(number, loss, _measured(encoded, weight, bias, split.validation).mrr))
        watch(epochs[-1])
        if epochs[-1].mrr > best[0].mrr:
            best = (epochs[-1], weight.detach().clone(), bias.detach().clone())
        _store(partial, epochs, best, (weight, bias), optimizer)
    return Fit(best[1].cpu().numpy(), best[2].cpu().numpy(), best[0], tuple(epochs))


def projected(states: Any, weight: Any, bias: Any) -> Any:
    """Unit vectors (rows, N_q, d)."""
    return normalize(states @ weight.T + bias, dim=-1)


def similarities(vectors: Any, texts: Any) -> Any:
    """Equation (2) of QA-Dragon: (rows, texts), of each row's query tokens (rows, N_q, d) the best."""
    return (vectors @ texts.T).amax(dim=1)


def recall(vectors: Any, encoded: Encoded, places: Sequence[int]) -> Recall:
    """Of the rows at `places`, whose `vectors` are given, among all texts of these rows."""
    pool = encoded.pool(places)
    scores = similarities(vectors, encoded.texts[pool])
    wanted = torch.tensor([pool.index(encoded.positives[n]) for n in places], device=scores.device)
    own = scores.gather(1, wanted[:, None])
    others = ~(scores <= own)  # a score that is no number counts as better, so that it ranks last
    ranks = 1 + others.sum(dim=1).double()
    at = {k: float((ranks <= k).double().mean()) for k in DEPTHS}
    return Recall(len(places), len(pool), at, float((1 / ranks).mean()))


def _measured(encoded: Encoded, weight: Any, bias: Any, places: Sequence[int]) -> Recall:
    with torch.no_grad():
        return recall(projected(encoded.states[list(places)], weight, bias), encoded, places)


def _train(
    encoded: Encoded, order: NDArray[np.int64], head: tuple[Any, Any], optimizer: Any, recipe: Recipe
) -> float:
    """One pass over the training part; its mean loss."""
    losses = []
    for start in range(0, len(order), recipe.batch_size):
        places = [int(place) for place in order[start : start + recipe.batch_size]]
        pool = encoded.pool(places)  # each text once: one that answers two questions is no negative of either
        scores = similarities(projected(encoded.states[places], *head), encoded.texts[pool])
        wanted = torch.tensor([pool.index(encoded.positives[n]) for n in places], device=scores.device)
        loss = cross_entropy(scores / recipe.temperature, wanted)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(head, _LONGEST_STEP)
        optimizer.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses))


def _store(
    partial: Path,
    epochs: Sequence[Epoch],
    best: tuple[Epoch, Any, Any],
    head: tuple[Any, Any],
    optimizer: Any,
) -> None:
    """Beside it first, then in its place: a run that is killed leaves a whole file."""
    written = partial.with_suffix(".writing")
    torch.save(
        {
            "epochs": [asdict(each) for each in epochs],
            "best": best[0].number,
            "best_head": best[1:],
            "head": tuple(each.detach() for each in head),
            "optimizer": optimizer.state_dict(),
        },
        written,
    )
    written.replace(partial)
