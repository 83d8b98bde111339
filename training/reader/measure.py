"""Measure an exported reader as it is used: read the passages of a question, answer or refuse.

`python -m training.reader.measure WEIGHTS FILE.json` prints, for several least probabilities, how many
answerable questions are answered right and wrong, and how many unanswerable ones get an answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from chassis.calibration import LogisticCurve
from chassis.models.encoders import CrossEncoder
from evaluation.judging.text import says
from services.reader.engine import Query
from services.reader.engines.builtin import reader_of
from services.reader.engines.extractive import FEATURES
from training.reader.tasks import ReadingTask, read_tasks

LEAST = (0.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The best answer to a question. `right`: it holds an accepted one. `held`: a passage does."""

    answerable: bool
    right: bool
    held: bool
    probability: float
    words: int


def measure(tasks: Sequence[ReadingTask], model: CrossEncoder) -> Iterator[Outcome]:
    """Yield the outcome of each question."""
    curve = LogisticCurve.from_json(model.card["reader"], FEATURES)
    reader = reader_of(model, curve)
    for task in tqdm(tasks, unit="question", mininterval=10):
        answers = reader.read(Query(task.question, task.subject), task.passages)
        said = answers[0].spoken if answers else ""
        held = any(says(each.text, task.golds) for each in task.passages)
        probability = answers[0].probability if answers else 0.0
        yield Outcome(bool(task.golds), says(said, task.golds), held, probability, len(said.split()))


def show(outcomes: Sequence[Outcome]) -> None:
    """Print the shares of right and wrong answers by the least probability."""
    answerable = [each for each in outcomes if each.answerable]
    unanswerable = [each for each in outcomes if not each.answerable]
    table = Table("least probability", "right", "wrong", "unanswerable answered", "median words")
    for least in LEAST:
        given = [each for each in answerable if each.probability >= least]
        right = sum(each.right for each in given)
        false_answers = sum(each.probability >= least for each in unanswerable)
        words = median([each.words for each in given] or [0])
        shares = (_share(right, answerable), _share(len(given) - right, answerable))
        table.add_row(f"{least:.2f}", *shares, _share(false_answers, unanswerable), f"{words:.0f}")
    console = Console()
    console.print(table)
    held = np.mean([each.held for each in answerable])
    console.print(f"{len(answerable)} answerable questions; the passages hold the answer of {held:.1%}.")


def _share(count: int, of: Sequence[Outcome]) -> str:
    return f"{count / len(of):.1%}" if of else "-"


def main(
    weights: Annotated[Path, typer.Argument(exists=True, help="folder of the exported model")],
    file: Annotated[Path, typer.Argument(exists=True, help="questions in SQuAD 2.0's format, or rows")],
    limit: Annotated[int, typer.Option(help="questions")] = 400,
    depth: Annotated[int, typer.Option(help="paragraphs that are read")] = 5,
    seed: int = 1,
) -> None:
    """Measure an exported reader."""
    show(list(measure(read_tasks(file, limit, depth, seed), CrossEncoder(weights))))


if __name__ == "__main__":
    typer.run(main)
