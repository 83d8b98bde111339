"""Epochs with early stopping, which a run that was broken off goes on with, to the same result."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from evaluation.data.progress import bar
from training.heads.settings import Recipe
from training.runs import RunFolder

STATE = "epochs.pt"
SCORE, TIE = "score", "tie"
"""What an epoch is chosen by, and what decides between equals; both: more is better."""


class Learner(Protocol):
    """What learns in epochs."""

    optimizer: Any

    def train(self, order: NDArray[np.int64]) -> float:
        """One pass over these places; its mean loss."""
        ...

    def validate(self) -> dict[str, float]:
        """Figures of the validation part: `SCORE`, `TIE`, and others to be logged."""
        ...

    def weights(self) -> dict[str, Any]:
        """A copy of all that has been learnt, as tensors."""
        ...

    def restore(self, weights: dict[str, Any]) -> None:
        """Go back to an earlier copy."""
        ...


def fit(learner: Learner, training: Sequence[int], recipe: Recipe, run: RunFolder) -> dict[str, float]:
    """Train until the validation part gets no better; the learner is left as at its best epoch, 0 before any.

    That epoch's figures, with its `epoch` and how many there were in all (`epochs`).
    """
    torch.manual_seed(recipe.seed)  # dropout
    path = run.checkpoints / STATE
    path.parent.mkdir(parents=True, exist_ok=True)
    state = _begun(learner) if not path.exists() else _resumed(learner, path, run)
    left = range(state["epoch"] + 1, recipe.epochs + 1)
    for number in bar(left, "epochs"):
        if number - state["improved"] > recipe.patience:
            break
        order = np.random.default_rng([recipe.seed, number]).permutation(training)
        loss, figures = learner.train(order), learner.validate()
        run.log(number, {"loss": loss, **{name: value for name, value in figures.items() if name != TIE}})
        if figures[SCORE] > state["best"][SCORE]:
            state["improved"] = number
        if _rank(figures) > _rank(state["best"]):
            state |= {"best": figures, "best_epoch": number, "best_weights": learner.weights()}
        state["epoch"] = number
        _keep(learner, state, path)
    learner.restore(state["best_weights"])
    best = {name: value for name, value in state["best"].items() if name != TIE}
    return {**best, "epoch": state["best_epoch"], "epochs": state["epoch"]}


def _begun(learner: Learner) -> dict[str, Any]:
    return {
        "epoch": 0,
        "improved": 0,
        "best": learner.validate(),
        "best_epoch": 0,
        "best_weights": learner.weights(),
    }


def _resumed(learner: Learner, path: Path, run: RunFolder) -> dict[str, Any]:
    kept = torch.load(path, weights_only=True)
    learner.restore(kept["weights"])
    learner.optimizer.load_state_dict(kept["optimizer"])
    torch.set_rng_state(kept["random"])
    state: dict[str, Any] = kept["state"]
    run.go_on_after(state["epoch"])
    return state


def _keep(learner: Learner, state: dict[str, Any], path: Path) -> None:
    """Beside it first, then in its place: a run that is killed leaves a whole file."""
    kept = {
        "weights": learner.weights(),
        "optimizer": learner.optimizer.state_dict(),
        "random": torch.get_rng_state(),
        "state": state,
    }
    half = path.with_suffix(".partial")
    torch.save(kept, half)
    half.replace(path)


def _rank(figures: dict[str, float]) -> tuple[float, float]:
    return figures[SCORE], figures[TIE]
