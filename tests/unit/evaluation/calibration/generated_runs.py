"""Generate runs of a system with one threshold, with explanations."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.store import RunStore
from loreglass_client.models import Explanation
from tests.unit.evaluation.records import answered, turn_of

THRESHOLDS: Mapping[str, float] = {
    "direct_confidence": 0.6,
    "direct_from": 0.5,
    "verify_from": 0.5,
    "same_thing": 0.5,
    "decisive": 0.9,
    "tau_coarse": 0.1,
    "tau_fine": 0.5,
    "answer_confidence": 0.4,
    "supported": 0.35,
    "judged": 0.5,
    "token_min": 0.6,
    "token_mean": 0.9,
}
OPEN: Mapping[str, float] = {
    "direct_from": 1.0,
    "answer_confidence": 0.0,
    "supported": 0.0,
    "judged": 0.0,
    "token_min": 0.0,
    "token_mean": 0.0,
}


def write_run(
    folder: Path,
    *,
    seed: int = 0,
    sessions: int = 80,
    overrides: Mapping[str, float] = OPEN,
    pipeline: str = "loreglass",
    fingerprint: str = "",
    explained: bool = True,
) -> Path:
    """A run of single questions: the surer the answer, the more often it is right; below .3 it never is."""
    rng = random.Random(seed)
    thresholds = {**THRESHOLDS, **overrides}
    header = RunHeader(
        name=pipeline,
        dataset=f"made/\x1b[31m{seed}",
        fingerprint=fingerprint or f"print-{seed}",
        pipeline=pipeline,
        thresholds=dict(overrides),
    )
    with RunStore.create(folder, header) as store:
        for number in range(sessions):
            store.add(_record(f"{seed}-{number}", number, rng, thresholds, explained))
    return folder


def _record(
    name: str, number: int, rng: random.Random, thresholds: Mapping[str, float], explained: bool
) -> TurnRecord:
    confidence = rng.random()
    right = confidence > 0.3 and rng.random() < 0.5 + confidence / 2
    proposed = f"It is {number + 100}." if right else f"It is {number + 5000}."
    given = confidence >= thresholds["answer_confidence"]
    signals = {"answer_confidence": confidence, "citable": 1.0}
    told = Explanation(proposed=proposed, signals=signals, thresholds=dict(thresholds))
    answer = answered(proposed if given else None, explanation=told if explained else None)
    if given:
        answer = answer.model_copy(update={"confidence": confidence})
    return turn_of(f"question-{name}", answer, gold=f"{number + 100}")
