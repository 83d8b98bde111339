"""Risk-coverage curves."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.reporting.confidence import Candidate, risk_coverage


def candidates(*pairs: tuple[float, float]) -> list[Candidate]:
    return [Candidate(score, loss) for score, loss in pairs]


def test_the_surest_are_given_first() -> None:
    curve = risk_coverage(candidates((0.2, 1.0), (0.9, 0.0), (0.5, 0.0)), questions=4)
    assert [(p.threshold, p.coverage, p.hallucination) for p in curve.points[1:]] == [
        (0.9, 0.25, 0.0),
        (0.5, 0.5, 0.0),
        (0.2, 0.75, 0.25),
    ]
    assert curve.aurc == pytest.approx((0 + 0 + 1 / 3) / 3)


def test_answers_of_one_score_are_weighed_as_in_a_random_order() -> None:
    tied = [(0.5, 1.0), (0.5, 0.0), (0.5, 0.0), (0.5, 1.0)]
    orders = [
        risk_coverage(candidates(*((place / 9, loss) for place, (_, loss) in enumerate(order)))).aurc
        for order in permutations(tied)
    ]
    assert risk_coverage(candidates(*tied)).aurc == pytest.approx(sum(orders) / len(orders))


def test_a_score_that_is_no_number_is_withheld_first() -> None:
    curve = risk_coverage(candidates((math.nan, 1.0), (0.1, 0.0)))
    assert curve.points[-1].threshold == -math.inf
    assert curve.points[-2].risk == 0.0


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40))
def test_coverage_only_grows_and_ends_at_the_mean_loss(pairs: list[tuple[float, float]]) -> None:
    curve = risk_coverage(candidates(*pairs))
    coverages = [point.coverage for point in curve.points]
    assert coverages == sorted(coverages)
    assert curve.points[-1].risk == pytest.approx(sum(loss for _, loss in pairs) / len(pairs))
    assert 0.0 <= curve.aurc <= 1.0
