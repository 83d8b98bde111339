"""Measure an exported reader as it is used: read the passages of a question, answer or refuse.

`python -m training.reader.measure WEIGHTS FILE.json` prints, for several least probabilities, how many
answerable questions are answered right and wrong, and how many unanswerable ones get an answer.
`loreglass train reader` writes the same of each --tune file into `report.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from chassis.calibration import LogisticCurve
from chassis.models.encoders import CrossEncoder
from evaluation.data.model import DatasetError
from evaluation.judging.text import says
from evaluation.scoring.measures import calibration_error
from services.reader.engine import Query
from services.reader.engines.builtin import reader_of
from services.reader.engines.features import FEATURES
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


def figures_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return counts, the frontier, and the calibration of the probability that an answer is right.

    Shares are 0..1, and None without such questions.
    """
    answerable = [each for each in outcomes if each.answerable]
    right = np.array([each.right for each in outcomes], np.float64)
    probability = np.array([each.probability for each in outcomes])
    return {
        "questions": len(outcomes),
        "answerable": len(answerable),
        "held": _share(sum(each.held for each in answerable), len(answerable)),
        "calibration_error": round(calibration_error(right, probability), 4),
        "brier_score": round(float(np.mean((probability - right) ** 2)), 4),
        "frontier": [_point(outcomes, least) for least in LEAST],
    }


def _point(outcomes: Sequence[Outcome], least: float) -> dict[str, float | None]:
    answerable = [each for each in outcomes if each.answerable]
    unanswerable = [each for each in outcomes if not each.answerable]
    given = [each for each in answerable if each.probability >= least]
    right = sum(each.right for each in given)
    false_answers = sum(each.probability >= least for each in unanswerable)
    return {
        "least_probability": least,
        "right": _share(right, len(answerable)),
        "wrong": _share(len(given) - right, len(answerable)),
        "unanswerable_answered": _share(false_answers, len(unanswerable)),
        "median_words": median([each.words for each in given] or [0]),
    }


def _share(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None


def show(figures: Mapping[str, Any]) -> None:
    """Print the frontier and the calibration of one file."""
    table = Table("least probability", "right", "wrong", "unanswerable answered", "median words")
    for point in figures["frontier"]:
        words = f"{point['median_words']:.0f}"
        table.add_row(f"{point['least_probability']:.2f}", *_percentages(point), words)
    console = Console()
    console.print(table)
    held = _percent(figures["held"])
    console.print(f"{figures['answerable']} answerable questions; the passages hold the answer of {held}.")
    console.print(f"Calibration error {figures['calibration_error']}, Brier score {figures['brier_score']}.")


def show_report(report: Mapping[str, Mapping[str, Any]], least: float = 0.5) -> None:
    """Print a line for each file: its frontier at one least probability, and its calibration."""
    columns = ("right", "wrong", "unanswerable answered", "calibration error", "Brier score")
    table = Table("file", "questions", *columns, title=f"Answers with a probability of at least {least}")
    for name, figures in report.items():
        point = next(each for each in figures["frontier"] if each["least_probability"] == least)
        calibration = (str(figures["calibration_error"]), str(figures["brier_score"]))
        table.add_row(Path(name).name, str(figures["questions"]), *_percentages(point), *calibration)
    Console().print(table)


def _percentages(point: Mapping[str, float | None]) -> list[str]:
    return [_percent(point[name]) for name in ("right", "wrong", "unanswerable_answered")]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def main(
    weights: Annotated[Path, typer.Argument(exists=True, help="folder of the exported model")],
    file: Annotated[Path, typer.Argument(exists=True, help="questions in SQuAD 2.0's format, or rows")],
    limit: Annotated[int, typer.Option(help="questions")] = 400,
    depth: Annotated[int, typer.Option(help="paragraphs that are read")] = 5,
    seed: int = 1,
    articles: Annotated[
        list[str] | None, typer.Option(help="Only these articles of a SQuAD file.", metavar="A,B")
    ] = None,
) -> None:
    """Measure an exported reader."""
    try:
        tasks = read_tasks(file, limit, depth, seed, articles or ())
    except DatasetError as error:
        raise typer.BadParameter(str(error)) from error
    show(figures_of(list(measure(tasks, CrossEncoder(weights)))))


if __name__ == "__main__":
    typer.run(main)
