"""The refusal curve: how wrong the answers are that are given, as more and more are withheld.

Risk and coverage as in El-Yaniv and Wiener 2010, "On the Foundations of Noise-free Selective Classification";
the area under the curve (AURC) as in Geifman, Uziel and El-Yaniv 2019, "Bias-Reduced Uncertainty Estimation".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer in hand. `score`: how sure the system is of it, higher is surer; `loss`: 1 wrong, 0 right."""

    score: float
    loss: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What is given from `threshold` on. `coverage`, `hallucination`: shares of all questions; `risk`: of
    those answered."""

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
