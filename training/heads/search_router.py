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

from chassis.calibration import LogisticCurve
from evaluation.scoring.measures import aurc
from gateway.steps.routing import FALLING, FEATURES, RouterArtefact
from training.config import WrongConfig
from training.heads.calibration import calibration_error, figures_of
from training.heads.fitting import Matrix, Problem, fit, held_out
from training.heads.settings import SearchRouterConfig
from training.runs import RunFolder
from training.samples import DraftSample, Task, read_samples

ARTEFACT = "router.json"
FEWEST = 20
"""Right drafts, wrong drafts and conversations that are needed to fit six features."""


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
        columns = {"artefact": by_curve(drafts, curve), "own confidence": drafts.confidence}
    else:
        artefact = artefact_of(drafts, config.date, config.penalty)
        unseen = held_out(problem_of(drafts, config.penalty))
        columns = {"fitted, held out": unseen, "own confidence": drafts.confidence}
        run.keep_text(ARTEFACT, artefact.model_dump_json(indent=2) + "\n")
        weights = ", ".join(f"{name} {weight}" for name, weight in artefact.coefficients.items())
        run.say(f"intercept {artefact.intercept}, {weights}")
        run.say(f"the same in all drafts, so of no weight: {', '.join(artefact.constant) or 'none'}")
    figures = figures_of({name: (drafts.right, said) for name, said in columns.items()})
    for name, each in figures.items():
        run.say(f"{name}: AURC {each['aurc']:.3f}, calibration error {each['calibration_error']:.3f}")
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
                conversations=len({_conversation(each) for each in drafts}),
                systems=sorted({each.system for each in drafts}),
                judges=sorted({each.judge for each in drafts}),
            )
        )
        samples += drafts
    return Drafts(tuple(samples), tuple(files))


def problem_of(drafts: Drafts, penalty: float = 1.0) -> Problem:
    """Return the fitting problem; conversations stay together. Raises `WrongConfig` for too few drafts."""
    right, groups = int(drafts.right.sum()), [_conversation(each) for each in drafts.samples]
    counts = {"right drafts": right, "wrong drafts": len(groups) - right, "conversations": len(set(groups))}
    for what, count in counts.items():
        if count < FEWEST:
            raise WrongConfig(f"There are {count} {what}; {FEWEST} are needed. Ask more questions.")
    return Problem(FEATURES, FALLING, drafts.vectors, drafts.right, groups, penalty)


def artefact_of(drafts: Drafts, date: str, penalty: float = 1.0) -> RouterArtefact:
    """Fit a router on these drafts. Raises `WrongConfig`."""
    problem = problem_of(drafts, penalty)
    weights = [round(float(weight), 4) + 0.0 for weight in fit(problem, problem.vectors, problem.labels)]
    constant = [name for name, column in zip(FEATURES, problem.vectors.T, strict=True) if np.ptp(column) == 0]
    unseen, own = held_out(problem), drafts.confidence
    return RouterArtefact(
        format=1,
        date=date,
        intercept=weights[0],
        coefficients=dict(zip(FEATURES, weights[1:], strict=True)),
        constant=constant,
        fitted_on=list(drafts.files),
        held_out=dict(
            aurc=round(aurc(problem.labels, unseen), 4),
            own_aurc=round(aurc(problem.labels, own), 4),
            calibration_error=round(calibration_error(problem.labels, unseen), 4),
            own_calibration_error=round(calibration_error(problem.labels, own), 4),
        ),
    )


def by_curve(drafts: Drafts, curve: LogisticCurve) -> Matrix:
    """(drafts,): P(right) of each."""
    return np.array([curve.probability(vector) for vector in drafts.vectors])


def _conversation(sample: DraftSample) -> str:
    return sample.origin.session_id
