"""Generate signals in which confidence predicts correctness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.calibration.replay import Cutoffs, Floats, Signals
from tests.unit.evaluation import generated_runs

USUAL = Cutoffs.among(generated_runs.THRESHOLDS)
OPEN = replace(USUAL, **generated_runs.OPEN)


def unmeasured(signals: Signals, **columns: Any) -> Signals:
    """Return the signals with these columns; all that can be missing and is not among them is."""
    nothing = np.full(len(signals), np.nan)
    optional = (
        "draft", "draft_confidence", "p_direct", "token_min", "token_mean", "support", "evidence_support",
        "judged", "judge_token_min", "judge_token_mean",
    )  # fmt: skip
    changed: dict[str, Any] = {**dict.fromkeys(optional, nothing), **columns}
    return replace(signals, **changed)


def bend(score: float, threshold: float) -> float:
    """The verifier's common scale, written a second time."""
    if score < threshold:
        return 0.5 * score / threshold
    return 1.0 if threshold == 1.0 else 0.5 + 0.5 * (score - threshold) / (1.0 - threshold)


def generated(
    rng: np.random.Generator,
    count: int,
    *,
    turns: int = 1,
    coarse: int | None = None,
    tokens: bool = True,
    in_force: Cutoffs = OPEN,
) -> Signals:
    """`count` questions in conversations of `turns`; `coarse`: signals have only so many values."""

    def share() -> Floats:
        drawn: Floats = rng.random(count)
        return np.round(drawn * coarse) / coarse if coarse else drawn

    def sometimes(values: Floats, probability: float) -> Floats:
        return np.where(rng.random(count) < probability, values, np.nan)

    confidence, evidence = share(), sometimes(share(), 0.9)
    low = sometimes(share(), 0.8 if tokens else 0.0)
    mean = low + (1.0 - low) * rng.random(count)
    judged = sometimes(share(), 0.8)
    doubtful = np.where(np.isnan(judged), np.nan, share()) if tokens else np.full(count, np.nan)
    sure = np.nanmean([confidence, np.where(np.isnan(judged), 0.5, judged)], axis=0)
    right = rng.random(count) < sure
    points = np.where(right, 1.0, np.where(rng.random(count) < 0.1, 0.0, -1.0))
    drafted = rng.random(count) < 0.6
    verifier_up = rng.random(count) < 0.9
    support = np.full(count, np.nan)
    for place in np.flatnonzero(verifier_up):
        parts = [
            evidence[place],
            bend(low[place], in_force.token_min),
            bend(mean[place], in_force.token_mean),
            judged[place],
        ]
        known = [part for part in parts if not np.isnan(part)]
        support[place] = min(known) if known else 0.4
    return Signals(
        in_force=in_force,
        session=np.arange(count) // turns,
        proposed=sometimes(points, 0.9),
        draft=np.where(drafted, np.where(rng.random(count) < 0.7, 1.0, -1.0), np.nan),
        draft_confidence=np.where(drafted, share(), np.nan),
        p_direct=np.where(drafted, share(), np.nan),
        answer_confidence=confidence,
        token_min=low,
        token_mean=mean,
        support=support,
        evidence_support=np.where(np.isnan(support), np.nan, evidence),
        judged=judged,
        judge_token_min=doubtful,
        judge_token_mean=doubtful + (1.0 - doubtful) * rng.random(count),
        citable=rng.random(count) < 0.95,
        went_direct=np.zeros(count, bool),
    )
