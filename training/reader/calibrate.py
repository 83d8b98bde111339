"""Fit the curves of an exported reader, and write them into its card.

`python -m training.reader.calibrate WEIGHTS FILE [FILE ...]`: how probable it is that a span is right (the
reader), and that the evidence supports an answer (the verifier). The same margin means more for a record than
for a long article, so give files of every kind that will be read. Each file counts the same.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from chassis.calibration import LogisticCurve
from chassis.models.cross_encoder import CrossEncoder
from chassis.models.windows import question_text
from services.reader.engine import Query
from services.reader.engines.builtin import CrossEncoderModel
from services.reader.engines.extractive import (
    FEATURES,
    ExtractiveReader,
    ReadingOptions,
    features,
    uncalibrated,
)
from services.verifier.engines import builtin as verifier
from training.onnx_export import CARD
from training.reader.exams import Exam, holding, read_exams
from training.reader.measure import is_right

_WIDE = 20.0
"""A temperature at which no margin is negligible."""
_MOST_READ = 30
_ROUNDS = 4
"""The curve decides which answer is the best, and is fitted to the best ones."""

Labelled = tuple[list[float], bool]
"""Features, and whether the answer is right."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one question teaches: its candidates, and answers with the evidence beside them."""

    source: str
    candidates: tuple[Labelled, ...]
    supports: tuple[Labelled, ...]


def learn(exams: Sequence[Exam], model: CrossEncoder) -> Iterator[Lesson]:
    """Yield a lesson for each question."""
    reader = ExtractiveReader(CrossEncoderModel(model), options=ReadingOptions(curve=uncalibrated(_WIDE)))
    for exam in tqdm(exams, unit="question", mininterval=10):
        asked = exam.question
        answers = reader.read(Query(asked.question, asked.subject or None), exam.passages, _MOST_READ)
        candidates = tuple(
            (
                features(_margin(each.probability), bool(asked.subject), exam.passages[each.passage].kind),
                is_right(each.spoken, exam.golds),
            )
            for each in answers
        )
        said = [(answers[0].spoken, exam.passages[answers[0].passage])] if answers else []
        given = [(text, found) for text in exam.others[:1] if (found := holding(exam.passages, text))]
        given += [(text, found) for text in exam.golds[:1] if (found := holding(exam.passages, text))]
        supports = tuple(
            (support.vector(), is_right(text, exam.golds))
            for text, passage in said + given
            if (support := _support(model, exam, text, passage.text))
        )
        yield Lesson(exam.source, candidates, supports)


def _support(model: CrossEncoder, exam: Exam, answer: str, evidence: str) -> verifier.Support | None:
    asked = exam.question
    question = question_text(asked.question, asked.subject or None)
    return verifier.supported(model, question, answer, [evidence])


def _margin(probability: float) -> float:
    return _WIDE * float(np.log(probability / (1 - probability)))


def reader_curve(lessons: Sequence[Lesson]) -> LogisticCurve:
    """Return the curve by which the best candidate of each question is right."""
    read = [each for each in lessons if each.candidates]
    curve = uncalibrated()
    for _ in range(_ROUNDS):
        best = [max(each.candidates, key=lambda one: curve.logit(one[0])) for each in read]
        curve = _fit(best, [each.source for each in read])
    return curve


def verifier_curve(lessons: Sequence[Lesson]) -> LogisticCurve:
    """Return the curve by which evidence supports an answer."""
    pairs = [(pair, each.source) for each in lessons for pair in each.supports]
    return _fit([pair for pair, _ in pairs], [source for _, source in pairs])


def _fit(rows: Sequence[Labelled], sources: Sequence[str]) -> LogisticCurve:
    counts = Counter(sources)
    weights: NDArray[np.float64] = np.array([len(rows) / len(counts) / counts[each] for each in sources])
    model = LogisticRegression(C=10.0, max_iter=3_000)
    model.fit([vector for vector, _ in rows], [right for _, right in rows], sample_weight=weights)
    return LogisticCurve(
        round(float(model.intercept_[0]), 4), tuple(round(float(each), 4) for each in model.coef_[0])
    )


def calibrate(weights: Path, exams: Sequence[Exam]) -> None:
    """Write both curves into the card of an exported reader."""
    lessons = list(learn(exams, CrossEncoder(weights)))
    curves = {
        "reader": _stored(reader_curve(lessons), FEATURES),
        "verifier": _stored(verifier_curve(lessons), verifier.FEATURES),
    }
    card = weights / CARD
    card.write_text(json.dumps(json.loads(card.read_text("utf-8")) | curves, indent=2) + "\n", "utf-8")


def _stored(curve: LogisticCurve, names: Sequence[str]) -> dict[str, object]:
    return {
        "intercept": curve.intercept,
        "coefficients": dict(zip(names, curve.coefficients, strict=True)),
    }


def main(
    weights: Annotated[Path, typer.Argument(exists=True, help="folder of the exported model")],
    files: Annotated[list[Path], typer.Argument(exists=True, help="questions with their passages")],
    limit: Annotated[int, typer.Option(help="questions of each file")] = 500,
    depth: Annotated[int, typer.Option(help="paragraphs that are read of a file in SQuAD's format")] = 5,
    seed: int = 4,
) -> None:
    """Calibrate an exported reader."""
    calibrate(weights, [exam for file in files for exam in read_exams(file, limit, depth, seed)])
    typer.echo((weights / CARD).read_text("utf-8"))


if __name__ == "__main__":
    typer.run(main)
