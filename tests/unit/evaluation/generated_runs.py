"""Generate runs of questions with marked answers, under thresholds of one's own."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.data.model import AnswerType, Truth
from evaluation.record import RunHeader
from evaluation.runs.store import RunStore
from loreglass_client.models import Explanation
from tests.unit.evaluation.records import answered, turn_of

GOLD, OTHER = "Edda Marr", "Ina Holt"
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
    **dict.fromkeys(("answer_confidence", "supported", "judged", "token_min", "token_mean"), 0.0),
}
"""Overrides under which no answer is refused."""


@dataclass(frozen=True, slots=True)
class Question:
    """`said`: what was in hand; given from the threshold on `confidence` on."""

    confidence: float
    said: str = GOLD
    answerable: bool = True


def questions(count: int, seed: int = 0) -> list[Question]:
    """The surer the answer, the more often it is right; a third have no answer."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        confidence = round(chance.random(), 3)
        text = GOLD if chance.random() < confidence else OTHER
        made.append(Question(confidence, text, number % 3 > 0))
    return made


def write_run(
    folder: Path,
    asked: Iterable[Question],
    overrides: Mapping[str, float] | None = None,
    *,
    explained: bool = True,
    **header: Any,
) -> Path:
    """Write the run into that folder. `header`: other values than the usual."""
    thresholds = {**THRESHOLDS, **(overrides or {})}
    run_header = RunHeader(**{"name": "made up", "dataset": "few.json", "fingerprint": "f", **header})
    with RunStore(folder, run_header) as store:
        for number, each in enumerate(asked):
            name = f"{run_header.fingerprint}{number:04d}"
            given = each.confidence >= thresholds["answer_confidence"]
            signals = {"answer_confidence": each.confidence, "citable": 1.0}
            explanation = Explanation(proposed=each.said, signals=signals, thresholds=thresholds)
            answer = answered(
                each.said if given else None,
                confidence=each.confidence if given else 0.0,
                timings_ms={"answer": 5.0, "total": 9.0},
                explanation=explanation if explained else None,
            )
            kind = AnswerType.SPAN if each.answerable else AnswerType.UNANSWERABLE
            accepted = (GOLD,) if each.answerable else ()
            truth = Truth(interaction_id=name, answer_type=kind, accepted=accepted)
            gold = GOLD if each.answerable else "I don't know."
            place = {"place": number, "photo": "", "client_ms": 10.0 + number}
            store.add(turn_of(name, answer, gold=gold, truth=truth, **place))
    return folder
