"""What a report says of a run on questions whose golds are stretches of a text; also for a terminal."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console

from evaluation.reporting.comparison import JudgedRun
from evaluation.reporting.confidence import confidence_of
from evaluation.runs.tally import outcome_cells, outcome_table
from evaluation.scoring.scored import Scored
from evaluation.scoring.spans import Outcomes, SpanScores, marked, span_scores

STEPS = tuple(step / 10 for step in range(10))
"""The confidences from which on answers are shown to be given, in the table."""


@dataclass(frozen=True, slots=True)
class Step:
    """What would be said if every answer in hand of at least this `confidence` were given, and no other."""

    confidence: float
    outcomes: Outcomes


@dataclass(frozen=True, slots=True)
class SpanReport:
    """`curve`: a step for every confidence that an answer in hand has, surest first; `steps`: a few of them.

    `unmeasured`: answers in hand without a confidence, which are in no step.
    """

    scores: SpanScores
    steps: tuple[Step, ...]
    curve: tuple[Step, ...]
    unmeasured: int = 0


@dataclass(frozen=True, slots=True)
class _InHand:
    """An answer that was given, or withheld and kept: 1 right, -1 wrong or not to be answered at all."""

    confidence: float | None
    answerable: bool
    points: float


def span_report(run: JudgedRun) -> SpanReport | None:
    """None where the run's questions are of another kind."""
    scored = marked(run.scored)
    if not scored:
        return None
    scores = span_scores(scored)
    in_hand = list(_in_hand(scored, run.withheld))
    curve = tuple(_curve(in_hand, scores.outcomes))
    unmeasured = sum(each.confidence is None for each in in_hand)
    return SpanReport(scores, tuple(_steps(curve, scores.outcomes)), curve, unmeasured)


def _in_hand(scored: Sequence[Scored], withheld: Sequence[Scored]) -> Iterator[_InHand]:
    given = [(each, each.record.answer.confidence) for each in scored if each.record.answer]
    kept = [
        (each, confidence_of(each.record.answer.explanation))
        for each in withheld
        if each.record.answer and each.record.answer.explanation
    ]
    for each, confidence in (*given, *kept):
        points = each.judgement.verdict.points
        if points != 0.0:
            yield _InHand(confidence, each.record.answerable, points)


def _curve(in_hand: Sequence[_InHand], asked: Outcomes) -> Iterator[Step]:
    right = wrong = answered = 0
    measured = [(each.confidence, each) for each in in_hand if each.confidence is not None]
    surest_first = sorted(measured, key=lambda pair: -pair[0])
    for confidence, alike in groupby(surest_first, key=lambda pair: pair[0]):
        for _, each in alike:
            right += each.answerable and each.points > 0.0
            wrong += each.answerable and each.points < 0.0
            answered += not each.answerable
        yield Step(confidence, _outcomes(right, wrong, answered, asked))


def _steps(curve: Sequence[Step], asked: Outcomes) -> Iterator[Step]:
    for least in STEPS:
        reached = [step.outcomes for step in curve if step.confidence >= least]
        yield Step(least, reached[-1] if reached else _outcomes(0, 0, 0, asked))


def _outcomes(right: int, wrong: int, answered: int, asked: Outcomes) -> Outcomes:
    has, no = asked.answerable or math.nan, asked.unanswerable or math.nan
    unknown = (asked.answerable - right - wrong) / has
    return Outcomes(asked.answerable, asked.unanswerable, right / has, wrong / has, unknown, answered / no)


def show(name: str, report: SpanReport, console: Console) -> None:
    """Print the curve at a few confidences."""
    steps = outcome_table(f"{name}: if every answer of at least this confidence were given", "confidence")
    for step in report.steps:
        steps.add_row(f"{step.confidence:.1f}", *outcome_cells(step.outcomes))
    console.print(steps)
    if report.unmeasured:
        console.print(f"not in this table: {report.unmeasured:,} answers whose confidence was not measured")
