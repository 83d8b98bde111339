"""Curves of a system that answers by confidence alone: hallucination and outcomes against coverage.

Risk and coverage as in El-Yaniv and Wiener 2010, "On the Foundations of Noise-free Selective
Classification"; the area under the curve (AURC) as in Geifman, Uziel and El-Yaniv 2019, "Bias-Reduced
Uncertainty Estimation".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from rich.console import Console

from evaluation.judging.verdicts import Verdict
from evaluation.reporting.comparison import JudgedRun
from evaluation.reporting.tally import outcome_cells, outcome_table
from evaluation.scoring.measures import aurc
from evaluation.scoring.protocols import Scored
from evaluation.scoring.spans import Outcomes, SpanScores, marked_questions, outcomes, span_scores
from loreglass_client.models import Explanation

STEPS = tuple(step / 10 for step in range(10))
"""The confidences from which on answers are shown to be given, in the table."""


def proposed_answers(
    scored: Sequence[Scored], withheld: Sequence[Scored], verdict: Callable[[Scored], Verdict]
) -> pd.DataFrame:
    """Return the answers that were given with the confidence they came with, and those withheld with the one
    that they would have had (NaN: not measured).

    What the verdict takes for a refusal is no answer, whoever calls it one.
    """
    rows = [
        (each.record.answer.confidence, verdict(each), True, each.record.answerable)
        for each in scored
        if each.record.answer and not each.record.answer.abstained
    ]
    rows += [
        (confidence_of(each.record.answer.explanation), verdict(each), False, each.record.answerable)
        for each in withheld
        if each.record.answer and each.record.answer.explanation
    ]
    answers = pd.DataFrame(rows, columns=["confidence", "verdict", "given", "answerable"])
    answers["confidence"] = answers["confidence"].astype(float)
    return answers[answers["verdict"] != Verdict.MISSING]


def confidence_of(explanation: Explanation) -> float | None:
    """Return a proposed answer's confidence: the reasoner's own times its last check's, as for given answers.

    None if the reasoner's own was not measured. With the signal `citable` the answer was made from evidence,
    and the draft's confidence does not count for it.
    """
    signals = explanation.signals
    drafted = None if "citable" in signals else signals.get("draft_confidence")
    own = signals.get("answer_confidence", drafted)
    checks = (signals[name] for name in ("judged", "support", "token_mean") if name in signals)
    return None if own is None else own * next(checks, 1.0)


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Rates if only answers from `threshold` on are given.

    `coverage`, `hallucination`: shares of all questions; `risk`: of those answered.
    """

    threshold: float
    coverage: float
    risk: float
    hallucination: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Hallucination against coverage as the threshold on the confidence falls, and where the system is.

    `coverage`, `hallucination`: the system by its own checks, in shares of all questions; more is checked
    than this confidence, so that the point need not lie on the curve. `withheld`: answers that were refused
    and are part of the curve all the same, because the run kept them. `unmeasured`: answers without a
    confidence, which no curve has. `aurc`: the mean risk over the coverages that can be reached, in 0..1,
    less is better; NaN without answers.
    """

    points: tuple[CurvePoint, ...]
    aurc: float
    coverage: float
    hallucination: float
    withheld: int
    unmeasured: int


def curve(answers: pd.DataFrame, questions: int) -> Curve:
    """Return the curve over `questions` questions; those without an answer count as refused.

    Answers of one confidence come together: within them the area takes the risk of a random order.
    """
    measured = answers.dropna(subset="confidence").sort_values("confidence", ascending=False)
    wrong = (measured["verdict"] == Verdict.INCORRECT).astype(float)
    ties = wrong.groupby(measured["confidence"], sort=False)
    counts, losses = ties.size().cumsum(), ties.sum().cumsum()
    points = [
        CurvePoint(float(threshold), count / questions, lost / count, lost / questions)
        for threshold, count, lost in zip(counts.index, counts, losses, strict=True)
    ]
    given = answers["given"].astype(bool)
    return Curve(
        points=(CurvePoint(math.inf, 0.0, 0.0, 0.0), *points) if points else (),
        aurc=aurc(1.0 - wrong.to_numpy(), measured["confidence"].to_numpy()),
        coverage=int(given.sum()) / questions,
        hallucination=int((given & (answers["verdict"] == Verdict.INCORRECT)).sum()) / questions,
        withheld=int((~given).sum()),
        unmeasured=len(answers) - len(measured),
    )


@dataclass(frozen=True, slots=True)
class Step:
    """The outcomes if every proposed answer of at least this `confidence` were given, and no other."""

    confidence: float
    outcomes: Outcomes


@dataclass(frozen=True, slots=True)
class SpanReport:
    """Questions with marked answers. `unmeasured`: proposed answers without a confidence, in no step."""

    scores: SpanScores
    steps: tuple[Step, ...]
    unmeasured: int = 0


def span_report(run: JudgedRun) -> SpanReport | None:
    """Return the report; None if the run's questions are of another kind."""
    scored = marked_questions(run.scored)
    if not scored:
        return None
    scores = span_scores(scored)
    answers = proposed_answers(scored, run.withheld, lambda each: each.judgement.verdict)
    measured = answers.dropna(subset="confidence")
    steps = (
        Step(least, _outcomes(measured[measured["confidence"] >= least], scores.outcomes)) for least in STEPS
    )
    return SpanReport(scores, tuple(steps), len(answers) - len(measured))


def _outcomes(given: pd.DataFrame, every: Outcomes) -> Outcomes:
    """Return the outcomes if these answers were given. `every`: of all questions."""
    judged = [
        (bool(answerable), Verdict(verdict).points)
        for answerable, verdict in given[["answerable", "verdict"]].values
    ]
    answerable = sum(each for each, _ in judged)
    refused = [(True, 0.0)] * (every.answerable - answerable)
    refused += [(False, 0.0)] * (every.unanswerable - (len(judged) - answerable))
    return outcomes(judged + refused)


def show(name: str, report: SpanReport, console: Console) -> None:
    """Print the curve at a few confidences."""
    steps = outcome_table(f"{name}: if every answer of at least this confidence were given", "confidence")
    for step in report.steps:
        steps.add_row(f"{step.confidence:.1f}", *outcome_cells(step.outcomes))
    console.print(steps)
    if report.unmeasured:
        console.print(f"not in this table: {report.unmeasured:,} answers whose confidence was not measured")
