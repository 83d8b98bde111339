"""Hallucination against coverage, and confidence against accuracy.

Risk and coverage as in El-Yaniv and Wiener 2010, "On the Foundations of Noise-free Selective
Classification"; the area under the curve (AURC) as in Geifman, Uziel and El-Yaniv 2019, "Bias-Reduced
Uncertainty Estimation".
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from evaluation.judging.verdicts import Verdict
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, Settled
from loreglass_client.models import Explanation


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer in hand. `score`: how sure the system is of it, higher is surer; `loss`: 1 wrong, 0 right."""

    score: float
    loss: float


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
class RiskCoverage:
    """From nothing given to everything given that can be. `aurc`: the mean risk over the coverages that can
    be reached, in 0..1, less is better; NaN without answers."""

    points: tuple[CurvePoint, ...]
    aurc: float


def risk_coverage(candidates: Sequence[Candidate], questions: int | None = None) -> RiskCoverage:
    """The curve. `questions`: how many there were, those without an answer in hand included.

    Answers of one score come together: within them the area takes the risk of a random order. An answer whose
    score is NaN is the first to be withheld. Raises `ValueError` for fewer questions than answers.
    """
    total = len(candidates) if questions is None else questions
    if total < len(candidates):
        raise ValueError(f"{len(candidates)} answers to {total} questions")
    surest_first = sorted(candidates, key=_doubt)
    points = [CurvePoint(math.inf, 0.0, 0.0, 0.0)] if candidates else []
    count, lost, area = 0, 0.0, 0.0
    for doubt, alike in groupby(surest_first, key=_doubt):
        losses = [candidate.loss for candidate in alike]
        mean = math.fsum(losses) / len(losses)
        area += math.fsum((lost + mean * place) / (count + place) for place in range(1, len(losses) + 1))
        count, lost = count + len(losses), lost + math.fsum(losses)
        points.append(CurvePoint(-doubt, count / total, lost / count, lost / total))
    return RiskCoverage(tuple(points), area / count if count else math.nan)


def _doubt(candidate: Candidate) -> float:
    return math.inf if math.isnan(candidate.score) else -candidate.score


BINS = 10


@dataclass(frozen=True, slots=True)
class Point:
    """An answer in hand: how sure the system was, whether it is wrong or right, and whether it was given.

    `confidence`: None if it was not measured.
    """

    confidence: float | None
    verdict: Verdict
    given: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """Hallucination against coverage as the threshold on the confidence falls, and where the system is.

    `coverage`, `hallucination`: the system by its own checks, in shares of all questions; more is checked
    than this confidence, so that the point need not lie on the curve. `withheld`: answers that were refused
    and are part of the curve all the same, because the run kept them. `unmeasured`: answers without a
    confidence, which no curve and no bin has.
    """

    risk: RiskCoverage
    coverage: float
    hallucination: float
    withheld: int
    unmeasured: int = 0


@dataclass(frozen=True, slots=True)
class Bin:
    """Given answers whose confidence lies in `low`..`high`: its mean, and the share of them that is right."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """`error`: expected calibration error, the mean gap between confidence and accuracy weighted by count."""

    bins: tuple[Bin, ...]
    error: float


def points(settled: Iterable[Settled], withheld: Iterable[Scored], protocol: Protocol) -> list[Point]:
    """Answers given with the confidence they came with, and those withheld with the one they would have had.

    What the protocol reads as a refusal is no answer, whoever calls it one.
    """
    found = []
    for turn in settled:
        answer = turn.scored.record.answer
        if answer is not None and not answer.abstained:
            found.append(Point(answer.confidence, turn.alone, True))
    for each in withheld:
        answer = each.record.answer
        if answer is not None and answer.explanation is not None:
            found.append(Point(confidence_of(answer.explanation), each.verdict(protocol), False))
    return [point for point in found if point.verdict is not Verdict.MISSING]


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


def curve(found: Sequence[Point], asked: int) -> Curve:
    """Over `asked` questions, some of which nobody had an answer to."""
    candidates = [
        Candidate(point.confidence, float(point.verdict is Verdict.INCORRECT))
        for point in found
        if point.confidence is not None
    ]
    given = [point for point in found if point.given]
    return Curve(
        risk=risk_coverage(candidates, asked),
        coverage=len(given) / asked,
        hallucination=sum(point.verdict is Verdict.INCORRECT for point in given) / asked,
        withheld=len(found) - len(given),
        unmeasured=len(found) - len(candidates),
    )


def reliability(found: Iterable[Point]) -> Reliability:
    """Ten bins of equal width, empty ones left out; only answers that were given with a confidence."""
    members: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for point in found:
        if point.given and point.confidence is not None:
            right = point.verdict is Verdict.CORRECT
            members[min(BINS - 1, int(point.confidence * BINS))].append((point.confidence, right))
    bins = tuple(_bin(place, inside) for place, inside in enumerate(members) if inside)
    total = sum(each.count for each in bins)
    gap = sum(each.count * abs(each.confidence - each.accuracy) for each in bins)
    return Reliability(bins, gap / total if total else math.nan)


def _bin(place: int, inside: Sequence[tuple[float, bool]]) -> Bin:
    count = len(inside)
    return Bin(
        low=place / BINS,
        high=(place + 1) / BINS,
        count=count,
        confidence=sum(confidence for confidence, _ in inside) / count,
        accuracy=sum(right for _, right in inside) / count,
    )
