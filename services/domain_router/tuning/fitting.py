"""Fits the head, and what learns with it: weighted cross-entropy, AdamW, early stopping on macro-F1."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from services.domain_router.tuning.encoders import Encoder, Tensors
from services.domain_router.tuning.measures import Labels, Matrix, log_loss, macro_f1
from services.domain_router.tuning.splitting import Split

_LONGEST_STEP = 1.0  # gradient norm
_LEAST_SPREAD = 1e-6  # a feature that hardly varies is not blown up


@dataclass(frozen=True, slots=True)
class Recipe:
    """`learning_rate` is the head's, on features of unit variance; `tuned_rate` that of the Q-Former.

    `patience`: epochs without a better macro-F1 on the validation part until training stops.
    """

    epochs: int = 200
    patience: int = 20
    batch_size: int = 32
    learning_rate: float = 1e-2
    tuned_rate: float = 1e-5
    weight_decay: float = 1e-2
    seed: int = 20


@dataclass(frozen=True, slots=True)
class Epoch:
    """`loss`: the mean weighted training loss; the others are of the validation part."""

    number: int
    loss: float
    macro_f1: float
    log_loss: float


@dataclass(frozen=True, slots=True)
class Fit:
    """The best epoch's weights: `weight` (classes, features) and `bias` for features as they come."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    tuned: Tensors
    best: Epoch
    epochs: tuple[Epoch, ...]


def class_weights(labels: Labels, classes: int) -> NDArray[np.float32]:
    """Inverse frequency: each class that occurs weighs the same in all, 1 an example on average."""
    counts = np.bincount(labels, minlength=classes)
    present = int((counts > 0).sum())
    weights = np.divide(len(labels), present * counts, out=np.zeros(classes), where=counts > 0)
    return weights.astype(np.float32)


def fit(
    encoder: Encoder,
    labels: Labels,
    classes: int,
    split: Split,
    recipe: Recipe,
    watch: Callable[[Epoch], None] = lambda _: None,
) -> Fit:
    """Train until the validation part stops getting better; `encoder` is left as at the best epoch."""
    torch.manual_seed(recipe.seed)  # dropout
    head = _Head(_encoded(encoder, split.training, recipe.batch_size), classes)
    weights = torch.from_numpy(class_weights(labels[list(split.training)], classes)).to(head.weight.device)
    optimizer = torch.optim.AdamW(
        [
            {"params": [head.weight, head.bias], "lr": recipe.learning_rate},
            {"params": list(encoder.parameters), "lr": recipe.tuned_rate},
        ],
        weight_decay=recipe.weight_decay,
    )
    step = _Step(encoder, head, labels, weights, optimizer)
    best: Fit | None = None
    epochs: list[Epoch] = []
    generator = np.random.default_rng(recipe.seed)
    stale = 0
    while len(epochs) < recipe.epochs and stale < recipe.patience:
        loss = _train(step, generator.permutation(split.training), recipe.batch_size)
        epoch = _validated(len(epochs) + 1, loss, step, split.validation, recipe.batch_size)
        epochs.append(epoch)
        watch(epoch)
        stale = 0 if best is None or epoch.macro_f1 > best.best.macro_f1 else stale + 1
        if best is None or _rank(epoch) > _rank(best.best):
            best = Fit(*head.folded(), encoder.weights(), epoch, ())
    if best is None:
        raise ValueError("at least one epoch is needed")
    encoder.restore(best.tuned)
    return Fit(best.weight, best.bias, best.tuned, best.best, tuple(epochs))


def logits_of(encoder: Encoder, fitted: Fit, places: Sequence[int], batch_size: int) -> Matrix:
    """(len(places), classes), as the checkpoint will give them."""
    features = _encoded(encoder, places, batch_size).cpu().numpy().astype(np.float64)
    return np.asarray(features @ fitted.weight.T.astype(np.float64) + fitted.bias)


class _Head:
    """A linear map of features that are brought to mean 0 and variance 1 first, so that one rate fits all."""

    def __init__(self, features: Any, classes: int) -> None:
        self._mean = features.mean(dim=0)
        self._spread = features.std(dim=0, correction=0).clamp(min=_LEAST_SPREAD)
        size = features.shape[1]
        self.weight = torch.zeros(classes, size, device=features.device, requires_grad=True)
        self.bias = torch.zeros(classes, device=features.device, requires_grad=True)

    def __call__(self, features: Any) -> Any:
        return ((features - self._mean) / self._spread) @ self.weight.T + self.bias

    def folded(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The same map of features as they come."""
        with torch.no_grad():
            weight = self.weight.double() / self._spread.double()
            bias = self.bias.double() - weight @ self._mean.double()
            return weight.float().cpu().numpy(), bias.float().cpu().numpy()


@dataclass(frozen=True, slots=True)
class _Step:
    encoder: Encoder
    head: _Head
    labels: Labels
    class_weights: Any
    optimizer: Any


def _train(step: _Step, order: NDArray[np.int64], batch_size: int) -> float:
    """One pass over the training part; its mean loss."""
    step.encoder.learn(True)
    learning = [each for group in step.optimizer.param_groups for each in group["params"]]
    losses = []
    for start in range(0, len(order), batch_size):
        places = [int(place) for place in order[start : start + batch_size]]
        wanted = torch.from_numpy(step.labels[places]).to(step.class_weights.device)
        loss = cross_entropy(step.head(step.encoder.features(places)), wanted, step.class_weights)
        step.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learning, _LONGEST_STEP)
        step.optimizer.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses))


def _validated(number: int, loss: float, step: _Step, places: Sequence[int], batch_size: int) -> Epoch:
    with torch.no_grad():
        logits = step.head(_encoded(step.encoder, places, batch_size)).double().cpu().numpy()
    labels = step.labels[list(places)]
    return Epoch(number, loss, macro_f1(logits, labels), log_loss(logits, labels))


def _encoded(encoder: Encoder, places: Sequence[int], batch_size: int) -> Any:
    encoder.learn(False)
    with torch.no_grad():
        starts = range(0, len(places), batch_size)
        return torch.cat([encoder.features(places[start : start + batch_size]) for start in starts])


def _rank(epoch: Epoch) -> tuple[float, float]:
    """Of two epochs with one macro-F1 the one with more honest probabilities is better."""
    return epoch.macro_f1, -epoch.log_loss
