"""Train in epochs with early stopping. An interrupted run continues to the same result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from chassis.errors import LoreglassError
from chassis.pixels import decode_rgb
from chassis.rgb import RGB
from evaluation.data.progress import bar
from training.config import WrongConfig
from training.heads.settings import Recipe
from training.runs import RunFolder
from training.samples import Part, RejectedRow, Sample, Task, part_of, read_folders

STATE = "epochs.pt"
_LONGEST_STEP = 1.0  # gradient norm
SCORE, TIE = "score", "tie"
"""The best epoch has the highest score, and among equal scores the highest tie."""


class Learner(Protocol):
    """Something that learns in epochs. `parameters`: all that learns, by name."""

    optimizer: Any
    parameters: dict[str, Any]

    def loss(self, places: Sequence[int]) -> Any:
        """Return the loss of the samples at these places, a scalar with gradients."""
        ...

    def validate(self) -> dict[str, float]:
        """Return figures of the validation part: `SCORE`, `TIE`, and others to be logged."""
        ...


def fit(learner: Learner, training: Sequence[int], recipe: Recipe, run: RunFolder) -> dict[str, float]:
    """Train until the validation score stops improving, and restore the best epoch (0: before any).

    Return that epoch's figures, its number (`epoch`), and how many there were (`epochs`).
    """
    torch.manual_seed(recipe.seed)  # dropout
    path = run.checkpoints / STATE
    path.parent.mkdir(parents=True, exist_ok=True)
    state = _resume(learner, path) if path.exists() else _initial(learner)
    run.go_on_after(state["epoch"])
    left = range(state["epoch"] + 1, recipe.epochs + 1)
    for number in bar(left, "epochs"):
        if number - state["improved"] > recipe.patience:
            break
        order = np.random.default_rng([recipe.seed, number]).permutation(training)
        loss, figures = _train(learner, order, recipe.batch_size), learner.validate()
        run.log(number, {"loss": loss, **{name: value for name, value in figures.items() if name != TIE}})
        if figures[SCORE] > state["best"][SCORE]:
            state["improved"] = number
        if _rank(figures) > _rank(state["best"]):
            state |= {"best": figures, "best_epoch": number, "best_weights": _copy(learner)}
        state["epoch"] = number
        _save(learner, state, path)
    _restore(learner, state["best_weights"])
    best = {name: value for name, value in state["best"].items() if name != TIE}
    return {**best, "epoch": state["best_epoch"], "epochs": state["epoch"]}


def _initial(learner: Learner) -> dict[str, Any]:
    return {
        "epoch": 0,
        "improved": 0,
        "best": learner.validate(),
        "best_epoch": 0,
        "best_weights": _copy(learner),
    }


def _resume(learner: Learner, path: Path) -> dict[str, Any]:
    saved = torch.load(path, weights_only=True)
    _restore(learner, saved["weights"])
    learner.optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["random"])
    state: dict[str, Any] = saved["state"]
    return state


def _save(learner: Learner, state: dict[str, Any], path: Path) -> None:
    content = {
        "weights": _copy(learner),
        "optimizer": learner.optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "state": state,
    }
    half = path.with_suffix(".partial")
    torch.save(content, half)
    half.replace(path)


def _train(learner: Learner, order: NDArray[np.int64], batch_size: int) -> float:
    """Make one pass over these places; return the mean loss of its steps."""
    losses = []
    for start in range(0, len(order), batch_size):
        loss = learner.loss([int(place) for place in order[start : start + batch_size]])
        learner.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learner.parameters.values(), _LONGEST_STEP)
        learner.optimizer.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses))


def _copy(learner: Learner) -> dict[str, Any]:
    return {name: each.detach().cpu().clone() for name, each in learner.parameters.items()}


def _restore(learner: Learner, weights: Mapping[str, Any]) -> None:
    with torch.no_grad():
        for name, values in weights.items():
            learner.parameters[name].copy_(values)


def _rank(figures: dict[str, float]) -> tuple[float, float]:
    return figures[SCORE], figures[TIE]


Kind = TypeVar("Kind", bound=Sample)


@dataclass(frozen=True, slots=True)
class Parts(Generic[Kind]):
    """`samples` and their `photos` in the files' order; places of each part."""

    samples: tuple[Kind, ...]
    photos: tuple[Path | None, ...]
    training: tuple[int, ...]
    validation: tuple[int, ...]
    held_out: tuple[int, ...]
    rejected: tuple[RejectedRow, ...]

    @property
    def sizes(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in ("training", "validation", "held_out")}


def read_parts(folders: Sequence[Path], task: Task, validation: float, seed: int) -> "Parts[Sample]":
    """Read samples; those about one photo share a part. Raises `UnreadableData` and `WrongConfig`."""
    pairs, rejected = read_folders(folders, task)
    places: dict[str, list[int]] = {"training": [], "validation": [], "held_out": []}
    for place, (sample, _) in enumerate(pairs):
        key = sample.photo or f"{sample.origin.run} {sample.origin.session_id}"
        chooses = part_of(f"validation {key}", seed, validation) is Part.HELD_OUT
        held_out = sample.part is Part.HELD_OUT
        places["held_out" if held_out else "validation" if chooses else "training"].append(place)
    if not all(places.values()):
        empty = ", ".join(name for name, part in places.items() if not part)
        raise WrongConfig(f"{len(pairs)} samples are too few: nothing is left for {empty}.")
    samples, photos = zip(*pairs, strict=True)
    return Parts(
        samples, photos, **{name: tuple(part) for name, part in places.items()}, rejected=tuple(rejected)
    )


def pixels(photo: Path, side: int) -> RGB:
    """Decode a photo as the service does. Raises `WrongConfig`."""
    try:
        return decode_rgb(photo.read_bytes(), max_side=side)
    except LoreglassError as error:
        raise WrongConfig(f"{photo} cannot be decoded: {error.detail}") from error
