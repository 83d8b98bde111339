"""The search router: P(the draft is right) by logistic regression on its features (QA-Dragon, section 3.2).

Prints and stores the figures on held-out conversations beside those of the drafts' own confidence: a router
that is not better is useless. Nothing is random.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.model_selection import GroupKFold

from evaluation.scoring.measures import confidence_figures
from gateway.steps.routing import FALLING, FEATURES, RouterArtefact
from training.config import WrongConfig
from training.heads.settings import SearchRouterConfig
from training.runs import RunFolder
from training.samples import DraftSample, Task, read_samples

ARTEFACT = "router.json"
FEWEST = 20
"""Right drafts, wrong drafts and conversations that are needed to fit six features."""
_FOLDS = 10

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts of several data sets, and what the artefact stores about each set."""

    samples: tuple[DraftSample, ...]
    files: tuple[dict[str, Any], ...]

    @property
    def vectors(self) -> Matrix:
        """(drafts, features), in the order of `FEATURES`."""
        return np.array([[each.features[name] for name in FEATURES] for each in self.samples])

    @property
    def right(self) -> Matrix:
        """(drafts,) of 0 and 1."""
        return np.array([float(each.right) for each in self.samples])

    @property
    def conversations(self) -> list[str]:
        return [each.origin.session_id for each in self.samples]

    @property
    def confidence(self) -> Matrix:
        """(drafts,): their own."""
        return self.vectors[:, FEATURES.index("confidence")]


def train_search_router(config: SearchRouterConfig, run: RunFolder) -> RouterArtefact | None:
    """Fit and write the artefact, or measure an earlier one on these drafts.

    Raises `WrongConfig`, `UnreadableData` and `WrongSettings`.
    """
    drafts = read_drafts(config.data)
    artefact: RouterArtefact | None = None
    if config.compare:
        curve = RouterArtefact.load(config.compare).curve
        name, probabilities = "artefact", np.array([curve.probability(vector) for vector in drafts.vectors])
    else:
        artefact, probabilities = fit_router(drafts, config.date, config.penalty)
        name = "fitted, held out"
        run.write(ARTEFACT, artefact.model_dump_json(indent=2) + "\n")
        weights = ", ".join(f"{feature} {weight}" for feature, weight in artefact.coefficients.items())
        run.say(f"intercept {artefact.intercept}, {weights}")
        run.say(f"the same in all drafts, so of no weight: {', '.join(artefact.constant) or 'none'}")
    figures = {
        each: confidence_figures(drafts.right, probability)
        for each, probability in ((name, probabilities), ("own confidence", drafts.confidence))
    }
    for each, of_each in figures.items():
        run.say(f"{each}: AURC {of_each['aurc']:.3f}, calibration error {of_each['calibration_error']:.3f}")
    run.finish(
        {
            "kind": "search-router",
            "samples": {"drafts": len(drafts.samples), "right": int(drafts.right.sum())},
            "calibration": figures,
        }
    )
    return artefact


def read_drafts(folders: Sequence[Path]) -> Drafts:
    """Read the drafts of these data sets, all parts: fitting holds out conversations in turn.

    Raises `WrongConfig` for an invalid row, or one with other features.
    """
    samples, files = list[DraftSample](), list[dict[str, Any]]()
    for folder in folders:
        reading = read_samples(folder, Task.DRAFT)
        drafts: tuple[DraftSample, ...] = reading.samples
        if reading.rejected:
            first = reading.rejected[0]
            raise WrongConfig(f"{folder}, {first.where}: {first.why}.")
        other = next((each for each in drafts if set(each.features) != set(FEATURES)), None)
        if other is not None:
            raise WrongConfig(
                f"{folder}, interaction {other.origin.interaction_id}: other features than this router's; "
                "ask and make the data again."
            )
        content = (folder / f"{Task.DRAFT.value}.jsonl").read_bytes()
        files.append(
            dict(
                file=folder.name,
                sha256=hashlib.sha256(content).hexdigest(),
                drafts=len(drafts),
                right=sum(each.right for each in drafts),
                conversations=len({each.origin.session_id for each in drafts}),
                systems=sorted({each.system for each in drafts}),
                judges=sorted({each.judge for each in drafts}),
            )
        )
        samples += drafts
    return Drafts(tuple(samples), tuple(files))


def fit_router(drafts: Drafts, date: str, penalty: float = 1.0) -> tuple[RouterArtefact, Matrix]:
    """Return a router that is fitted on these drafts, and (drafts,) probabilities by routers that have not
    seen the draft's conversation. Raises `WrongConfig` for too few drafts.
    """
    right, groups = int(drafts.right.sum()), drafts.conversations
    counts = {"right drafts": right, "wrong drafts": len(groups) - right, "conversations": len(set(groups))}
    for what, count in counts.items():
        if count < FEWEST:
            raise WrongConfig(f"There are {count} {what}; {FEWEST} are needed. Ask more questions.")
    vectors, labels = drafts.vectors, drafts.right
    weights = [round(float(weight), 4) + 0.0 for weight in _fit(vectors, labels, penalty)]
    unseen = held_out(drafts, penalty)
    fitted, own = (confidence_figures(labels, probabilities) for probabilities in (unseen, drafts.confidence))
    artefact = RouterArtefact(
        format=1,
        date=date,
        intercept=weights[0],
        coefficients=dict(zip(FEATURES, weights[1:], strict=True)),
        constant=[name for name, column in zip(FEATURES, vectors.T, strict=True) if np.ptp(column) == 0],
        fitted_on=list(drafts.files),
        held_out={**fitted, **{f"own_{name}": value for name, value in own.items()}},
    )
    return artefact, unseen


def held_out(drafts: Drafts, penalty: float = 1.0) -> Matrix:
    """Return a probability for each draft from a router that has not seen its conversation."""
    vectors, labels = drafts.vectors, drafts.right
    probability = np.zeros(len(labels))
    for seen, unseen in GroupKFold(_FOLDS).split(vectors, labels, drafts.conversations):
        weights = _fit(vectors[seen], labels[seen], penalty)
        probability[unseen] = _logistic(weights[0] + vectors[unseen] @ weights[1:])
    return probability


def _fit(vectors: Matrix, labels: Matrix, penalty: float) -> Matrix:
    """Ridge logistic regression by L-BFGS-B: the intercept, then one coefficient a feature.

    The features of `FALLING` may only lower the probability; all others may only raise it, so that collinear
    ones cannot argue the wrong way.
    """
    signs = np.array([-1.0 if name in FALLING else 1.0 for name in FEATURES])
    inputs = np.hstack([np.ones((len(vectors), 1)), vectors * signs])
    penalties = np.r_[0.0, np.full(len(signs), penalty)]

    def loss(weights: Matrix) -> tuple[float, Matrix]:
        logits = inputs @ weights
        value = np.sum(np.logaddexp(0.0, logits) - labels * logits) + penalties @ weights**2 / 2.0
        return float(value), inputs.T @ (_logistic(logits) - labels) + penalties * weights

    bounds = [(None, None), *[(0.0, None)] * len(signs)]
    solution = minimize(loss, np.zeros(inputs.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(solution.x * np.r_[1.0, signs])


def _logistic(logits: Matrix) -> Matrix:
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))
