"""The BLIP-2 domain router's head (QA-Dragon, section 3.1.1): weighted cross-entropy, AdamW, one temperature.

By default only the linear head learns, on features that are computed once, in float32.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score
from torch.nn.functional import cross_entropy

from chassis.accelerator import Placement, open_accelerator
from chassis.models.qformer import DEFAULT_MODEL, QFormer, Question, witness
from contracts.domain_router import Domain
from evaluation.data.progress import bar
from evaluation.scoring.measures import confidence_figures
from services.domain_router.engine import IMAGE_SIDE
from services.domain_router.engines.blip2 import DomainHead, pooled
from services.domain_router.measures import (
    Labels,
    Matrix,
    best_temperature,
    log_loss,
    softmax,
)
from training.heads.epochs import SCORE, TIE, Parts, fit, pixels, read_parts
from training.heads.settings import DomainRouterConfig, Recipe
from training.runs import RunFolder
from training.samples import Task

CHECKPOINT = "head.safetensors"
Folded = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weight (classes, features) and bias (classes,) of raw features."""
_LABELS = tuple(domain.value for domain in Domain)
_LEAST_SPREAD = 1e-6  # features that hardly vary are not scaled up


def train_domain_router(config: DomainRouterConfig, run: RunFolder) -> DomainHead:
    """Read, fit, calibrate on the validation part, measure on the held-out one, and write the checkpoint.

    Raises `UnreadableData`, `WrongConfig` and `WrongWeights`.
    """
    recipe = config.recipe
    config = config.model_copy(update={"model": config.model or DEFAULT_MODEL})
    parts: Parts[Any] = read_parts(config.data, Task.DOMAIN, recipe.validation, recipe.seed)
    run.leave_out(parts.rejected)
    qformer = QFormer.from_pretrained(config.model, open_accelerator(Placement(config.device, "float32")))
    questions = [(each.question, photo) for each, photo in zip(parts.samples, parts.photos, strict=True)]
    encoder = Encoder(qformer, questions, recipe.batch_size, tuned=config.tune_qformer)
    labels = np.array([_LABELS.index(each.domain) for each in parts.samples], np.int64)
    learner = _Learner(encoder, labels, parts, config)
    chosen = fit(learner, parts.training, recipe, run)
    return _calibrate(config, run, parts, encoder, labels, learner.fold(), chosen, witness(qformer))


def _calibrate(
    config: DomainRouterConfig,
    run: RunFolder,
    parts: Parts[Any],
    encoder: "Encoder",
    labels: Labels,
    head: Folded,
    chosen: dict[str, float],
    vectors: NDArray[np.float32],
) -> DomainHead:
    """Choose the temperature on the validation part, measure the head, and write the checkpoint."""
    validation = _logits(encoder, head, parts.validation, config.recipe)
    temperature = best_temperature(validation, labels[list(parts.validation)])
    tuned = {name: each.detach().cpu().numpy() for name, each in encoder.parameters.items()}
    checkpoint = DomainHead(*head, temperature, _LABELS, config.model, vectors, tuned)
    checkpoint.save(run.path / CHECKPOINT)
    raw, true = _logits(encoder, head, parts.held_out, config.recipe), labels[list(parts.held_out)]
    measures = measure(raw / temperature, true)
    probabilities = {"without the temperature": softmax(raw), "as served": softmax(raw / temperature)}
    calibration = {
        name: confidence_figures(np.asarray(rows.argmax(axis=1) == true, np.float64), rows.max(axis=1))
        for name, rows in probabilities.items()
    }
    run.finish(
        {
            "kind": config.head,
            "base_model": config.model,
            "samples": parts.sizes,
            "chosen": chosen,
            "temperature": temperature,
            "held_out": measures,
            "calibration": calibration,
        }
    )
    run.say(
        "held out ({examples}): accuracy {accuracy:.3f}, macro-F1 {macro_f1:.3f}, log loss {log_loss:.3f},"
        " temperature {temperature:.2f}".format(**measures, temperature=temperature)
    )
    return checkpoint


def measure(logits: Matrix, labels: Labels) -> dict[str, Any]:
    """Return the figures of (n, classes) logits, already divided by the temperature.

    `macro_f1`: the mean over the classes that occur; `log_loss` in nats.
    """
    return {
        "examples": len(labels),
        "accuracy": float((logits.argmax(axis=1) == labels).mean()),
        "macro_f1": _macro_f1(logits, labels),
        "log_loss": log_loss(logits, labels),
    }


def _macro_f1(logits: Matrix, labels: Labels) -> float:
    return float(f1_score(labels, logits.argmax(axis=1), labels=np.unique(labels), average="macro"))


def class_weights(labels: Labels, classes: int) -> NDArray[np.float32]:
    """Return inverse frequencies: classes have the same total weight, examples 1 on average."""
    counts = np.bincount(labels, minlength=classes)
    present = int((counts > 0).sum())
    weights = np.divide(len(labels), present * counts, out=np.zeros(classes), where=counts > 0)
    return weights.astype(np.float32)


class _Learner:
    """Learns a linear map of features with mean 0 and variance 1, so that one rate fits all."""

    def __init__(
        self, encoder: "Encoder", labels: Labels, parts: Parts[Any], config: DomainRouterConfig
    ) -> None:
        self._encoder, self._labels, self._recipe = encoder, labels, config.recipe
        self._validation = parts.validation
        features = _encode(encoder, parts.training, config.recipe)
        self._mean = features.mean(dim=0)
        self._spread = features.std(dim=0, correction=0).clamp(min=_LEAST_SPREAD)
        shape = (len(_LABELS), features.shape[1])
        self._weight = torch.zeros(shape, device=features.device, requires_grad=True)
        self._bias = torch.zeros(len(_LABELS), device=features.device, requires_grad=True)
        weights = class_weights(labels[list(parts.training)], len(_LABELS))
        self._class_weights = torch.from_numpy(weights).to(features.device)
        self.parameters = {"weight": self._weight, "bias": self._bias, **encoder.parameters}
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [self._weight, self._bias], "lr": config.recipe.learning_rate},
                {"params": encoder.parameters.values(), "lr": config.tuned_rate},
            ],
            weight_decay=config.recipe.weight_decay,
        )

    def loss(self, places: Sequence[int]) -> Any:
        self._encoder.learn(True)
        labels = torch.from_numpy(self._labels[list(places)]).to(self._class_weights.device)
        return cross_entropy(self._head(self._encoder.features(places)), labels, self._class_weights)

    def validate(self) -> dict[str, float]:
        """See `Learner`. Of two epochs with the same macro-F1 the one with less log loss is better."""
        with torch.no_grad():
            features = _encode(self._encoder, self._validation, self._recipe)
            logits = self._head(features).double().cpu().numpy()
        labels = self._labels[list(self._validation)]
        score, loss = _macro_f1(logits, labels), log_loss(logits, labels)
        return {SCORE: score, TIE: -loss, "validation/macro_f1": score, "validation/log_loss": loss}

    def fold(self) -> Folded:
        """Return the map of raw features: weight (classes, features) and bias."""
        with torch.no_grad():
            weight = self._weight.double() / self._spread.double()
            bias = self._bias.double() - weight @ self._mean.double()
            return weight.float().cpu().numpy(), bias.float().cpu().numpy()

    def _head(self, features: Any) -> Any:
        return ((features - self._mean) / self._spread) @ self._weight.T + self._bias


def _logits(encoder: "Encoder", head: Folded, places: Sequence[int], recipe: Recipe) -> Matrix:
    """Return logits (len(places), classes) as the checkpoint computes them."""
    features = _encode(encoder, places, recipe).cpu().numpy().astype(np.float64)
    return np.asarray(features @ head[0].T.astype(np.float64) + head[1])


def _encode(encoder: "Encoder", places: Sequence[int], recipe: Recipe) -> Any:
    encoder.learn(False)
    with torch.no_grad():
        starts = range(0, len(places), recipe.batch_size)
        return torch.cat([encoder.features(places[start : start + recipe.batch_size]) for start in starts])


Asked = tuple[str, Path | None]
"""A question and the path of its photo."""


def questions(pairs: Sequence[Asked]) -> list[Question]:
    """Decode the photos. Raises `WrongConfig`."""
    return [(question, None if photo is None else pixels(photo, IMAGE_SIDE)) for question, photo in pairs]


class Encoder:
    """Computes pooled features of examples, by their places.

    `tuned`: the Q-Former learns, with its query tokens and its word embeddings; the vision tower does not.
    Else each example goes through the base model once. `parameters`: what learns besides the head, by name in
    the model; may be empty.
    """

    def __init__(self, qformer: QFormer, pairs: Sequence[Asked], batch_size: int, *, tuned: bool) -> None:
        self._qformer, self._pairs = qformer, pairs
        self._learning: list[Any] = []
        self.parameters: dict[str, Any] = {}
        self._features: Any = None
        if tuned:
            self._let_learn(qformer.model)
        else:
            encoded = [
                pooled(states)
                for start in bar(range(0, len(pairs), batch_size), "reading questions and photos")
                for states in qformer.encode_questions(questions(pairs[start : start + batch_size]))
            ]
            self._features = torch.from_numpy(np.stack(encoded)).to(qformer.accelerator.device)

    def _let_learn(self, model: Any) -> None:
        model.requires_grad_(False)
        self._learning = [model.qformer, model.embeddings]
        for part in (*self._learning, model.query_tokens):
            part.requires_grad_(True)
        self.parameters = {name: each for name, each in model.named_parameters() if each.requires_grad}

    def features(self, places: Sequence[int]) -> Any:
        """Return float32 features (len(places), hidden), with gradients if the Q-Former learns."""
        if self._features is not None:
            return self._features[list(places)]
        pairs = questions([self._pairs[place] for place in places])
        return self._qformer.question_states(self._qformer.prepare(pairs)).mean(dim=1)

    def learn(self, on: bool) -> None:
        """Switch dropout in the parts that learn."""
        for part in self._learning:
            part.train(on)
