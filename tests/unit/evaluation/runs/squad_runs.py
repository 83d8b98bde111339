"""Generate runs on SQuAD questions."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.data.model import AnswerType, Truth
from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.store import Run, RunStore, load_run
from loreglass_client.models import Explanation
from tests.unit.evaluation.calibration.generated_runs import THRESHOLDS
from tests.unit.evaluation.records import answered, turn_of

GOLD, OTHER = "Edda Marr", "Ina Holt"


@dataclass(frozen=True, slots=True)
class Question:
    """`said`: what was in hand; given from a confidence of `THRESHOLDS["answer_confidence"]` on."""

    confidence: float
    said: str = GOLD
    answerable: bool = True
    article: str = "Harl"


def questions(
    count: int, seed: int = 0, articles: Sequence[str] = ("Harl", "Orrin", "Senn")
) -> list[Question]:
    """The surer the answer, the more often it is right; a third have no answer."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        confidence = round(chance.random(), 3)
        said = GOLD if chance.random() < confidence else OTHER
        made.append(Question(confidence, said, number % 3 > 0, articles[number % len(articles)]))
    return made


def write_run(
    folder: Path,
    asked: Iterable[Question],
    thresholds: Mapping[str, float] = THRESHOLDS,
    *,
    explained: bool = True,
) -> Run:
    """The run in that folder."""
    with RunStore.create(folder, RunHeader(name="made up", dataset="few.json", fingerprint="f")) as store:
        for number, each in enumerate(asked):
            store.add(_record(f"q{number:04d}", number, each, thresholds, explained))
    return load_run(folder)


def _record(
    name: str, place: int, asked: Question, thresholds: Mapping[str, float], explained: bool
) -> TurnRecord:
    given = asked.confidence >= THRESHOLDS["answer_confidence"]
    signals = {"answer_confidence": asked.confidence, "citable": 1.0}
    explanation = Explanation(proposed=asked.said, signals=signals, thresholds=dict(thresholds))
    kind = AnswerType.SPAN if asked.answerable else AnswerType.UNANSWERABLE
    return turn_of(
        name,
        answered(
            asked.said if given else None,
            confidence=asked.confidence if given else 0.0,
            timings_ms={"answer": 5.0, "total": 9.0},
            explanation=explanation if explained else None,
        ),
        place=place,
        photo="",
        gold=GOLD if asked.answerable else "I don't know.",
        domain=asked.article,
        truth=Truth(interaction_id=name, answer_type=kind, accepted=(GOLD,) if asked.answerable else ()),
        client_ms=10.0 + place,
    )
