"""Fit the curves of an exported reader, and write them into its card.

How probable it is that a span is right (the reader), and that the evidence supports an answer (the verifier).
The same margin means more for a record than for a long article, so give files of every kind that will be
read. Each file counts the same.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from chassis.calibration import LogisticCurve
from chassis.models.encoders import CrossEncoder
from chassis.models.windows import question_text
from evaluation.judging.text import says
from services.reader.engine import Query
from services.reader.engines.builtin import reader_of
from services.reader.engines.features import FEATURES, uncalibrated
from services.verifier.engines import builtin as verifier
from training.onnx_export import CARD
from training.reader.tasks import ReadingTask, find_passage

_WIDE = 20.0
"""A temperature at which no margin is negligible."""
_MOST_READ = 30
_ROUNDS = 4
"""The curve chooses the best candidates and is fitted to them, so it is fitted several times."""

Labelled = tuple[list[float], bool]
"""Features, and whether the answer is right."""


@dataclass(frozen=True, slots=True)
class Observation:
    """The candidates of one question, and answers with what the verifier measures of them."""

    source: str
    candidates: tuple[Labelled, ...]
    supports: tuple[Labelled, ...]


def observe(tasks: Sequence[ReadingTask], model: CrossEncoder) -> Iterator[Observation]:
    """Yield an observation for each task."""
    reader = reader_of(model, uncalibrated(_WIDE))
    for task in tqdm(tasks, unit="question", mininterval=10):
        ranked = reader.rank(Query(task.question, task.subject), task.passages, _MOST_READ)
        candidates = tuple((list(vector), says(each.spoken, task.golds)) for each, vector in ranked)
        best = [(answer.spoken, task.passages[answer.passage]) for answer, _ in ranked[:1]]
        listed = [
            (text, passage)
            for text in (*task.other_answers[:1], *task.golds[:1])
            if (passage := find_passage(task.passages, text))
        ]
        supports = tuple(
            (support.vector(), says(text, task.golds))
            for text, passage in best + listed
            if (support := _support(model, task, text, passage.text))
        )
        yield Observation(task.source, candidates, supports)


def _support(model: CrossEncoder, task: ReadingTask, answer: str, evidence: str) -> verifier.Support | None:
    question = question_text(task.question, task.subject)
    return verifier.measure_support(model, question, answer, [evidence])


def reader_curve(observations: Sequence[Observation]) -> LogisticCurve:
    """Return the curve by which the best candidate of each question is right."""
    read = [each for each in observations if each.candidates]
    curve = uncalibrated()
    for _ in range(_ROUNDS):
        best = [max(each.candidates, key=lambda one: curve.logit(one[0])) for each in read]
        curve = _fit(best, [each.source for each in read])
    return curve


def verifier_curve(observations: Sequence[Observation]) -> LogisticCurve:
    """Return the curve by which evidence supports an answer."""
    pairs = [(pair, each.source) for each in observations for pair in each.supports]
    return _fit([pair for pair, _ in pairs], [source for _, source in pairs])


def _fit(rows: Sequence[Labelled], sources: Sequence[str]) -> LogisticCurve:
    counts = Counter(sources)
    weights: NDArray[np.float64] = np.array([len(rows) / len(counts) / counts[each] for each in sources])
    model = LogisticRegression(C=10.0, max_iter=3_000)
    model.fit([vector for vector, _ in rows], [right for _, right in rows], sample_weight=weights)
    return LogisticCurve(
        round(float(model.intercept_[0]), 4), tuple(round(float(each), 4) for each in model.coef_[0])
    )


def calibrate(weights: Path, tasks: Sequence[ReadingTask]) -> None:
    """Write both curves into the card of an exported reader."""
    observations = list(observe(tasks, CrossEncoder(weights)))
    curves = {
        "reader": _stored(reader_curve(observations), FEATURES),
        "verifier": _stored(verifier_curve(observations), verifier.FEATURES),
    }
    card = weights / CARD
    card.write_text(json.dumps(json.loads(card.read_text("utf-8")) | curves, indent=2) + "\n", "utf-8")


def _stored(curve: LogisticCurve, names: Sequence[str]) -> dict[str, object]:
    return {
        "intercept": curve.intercept,
        "coefficients": dict(zip(names, curve.coefficients, strict=True)),
    }
