"""Intervals and paired tests over conversations."""

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.data.model import Part
from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.scoring.intervals import bootstrap, holm, paired, sign_flip_p
from evaluation.scoring.measures import (
    Measure,
    accuracy,
    early_stopped,
    elapsed,
    elapsed_percentile,
    gold_overlap,
    hallucination,
    missing,
    session_truthfulness,
    truthfulness,
    turns_succeeded,
)
from evaluation.scoring.protocols import Protocol
from evaluation.scoring.scored import Scored, scores_of
from tests.unit.evaluation.scoring.predictions import GOLD, prediction_set, scored, turn_record

KDD, BASELINE = Protocol.KDD_CUP_2025, Protocol.CRAG_MM_2026
C, M, X = Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT


def session(name: str, *verdicts: Verdict, ms: float = 100.0) -> list[Scored]:
    return [
        Scored(
            turn_record("so", session=name, turn=turn, part=Part.MULTI, client_ms=ms),
            Judgement(verdict, ""),
            by_hand=True,
        )
        for turn, verdict in enumerate(verdicts)
    ]


def many(seed: int, sessions: int = 60) -> list[Scored]:
    chance = random.Random(seed)
    return [
        each
        for n in range(sessions)
        for each in session(f"s{n}", *chance.choices((C, M, X), k=3), ms=chance.uniform(10, 1000))
    ]


@pytest.mark.parametrize("protocol", Protocol)
def test_measures_are_the_scores(protocol: Protocol) -> None:
    for seed in range(50):
        answers = [scored(each) for each in prediction_set(seed)]
        scores = scores_of(answers, protocol)
        for measure, expected in (
            (accuracy, scores.accuracy),
            (missing, scores.missing),
            (hallucination, scores.hallucination),
            (truthfulness, scores.truthfulness),
            (session_truthfulness, scores.session_truthfulness),
        ):
            assert measure(protocol).of(answers) == pytest.approx(expected)
        stopped = early_stopped(protocol).of(answers)
        assert math.isnan(stopped) if scores.early_stopped is None else stopped == scores.early_stopped


@pytest.mark.parametrize(
    "measure", [truthfulness(KDD), session_truthfulness(KDD), elapsed(), elapsed_percentile(0.95)]
)
def test_an_interval_holds_its_figure_and_is_the_same_every_time(measure: Measure) -> None:
    answers = many(1)
    interval = bootstrap(answers, measure, resamples=500, seed=3)
    assert interval.low <= measure.of(answers) <= interval.high
    assert interval == bootstrap(answers[::-1], measure, resamples=500, seed=3)
    assert measure.quantile or interval != bootstrap(answers, measure, resamples=500, seed=4)


def test_interval_equals_a_naive_bootstrap() -> None:
    answers, measure = many(2, 30), truthfulness(BASELINE)
    chance = np.random.default_rng(0)
    sessions = [answers[start : start + 3] for start in range(0, len(answers), 3)]
    drawn = []
    for _ in range(3000):
        points = [
            each.judgement.verdict.points for index in chance.integers(0, 30, 30) for each in sessions[index]
        ]
        drawn.append(sum(points) / len(points))
    interval = bootstrap(answers, measure, resamples=3000)
    assert [interval.low, interval.high] == pytest.approx(list(np.quantile(drawn, [0.025, 0.975])), abs=0.03)


def test_nothing_has_no_interval() -> None:
    interval = bootstrap([], truthfulness(KDD))
    assert math.isnan(interval.low)
    assert math.isnan(paired([], many(1), truthfulness(KDD)).p_value)
    only_failed = [Scored(turn_record(None), Judgement(M, ""))]
    assert math.isnan(bootstrap(only_failed, elapsed()).high)


def test_only_questions_that_both_have_are_compared() -> None:
    a = [*session("a", C, C), *session("b", X)]
    b = [*session("b", C), *session("a", X), *session("c", C)]
    found = paired(a, b, accuracy(BASELINE))
    assert (found.sessions, found.turns, found.difference) == (2, 2, 0)
    assert paired(a, b, truthfulness(BASELINE)).difference == 0


def test_paired_difference_is_antisymmetric() -> None:
    a, b = many(1), many(2)
    for measure in (truthfulness(KDD), session_truthfulness(KDD), elapsed(), gold_overlap()):
        found, back = paired(a, b, measure), paired(b, a, measure)
        assert found.difference == pytest.approx(measure.of(a) - measure.of(b))
        assert found.difference == pytest.approx(-back.difference)
        assert found.p_value == pytest.approx(back.p_value, abs=0.02)
        assert found.interval.low <= found.difference <= found.interval.high


def test_a_percentile_cannot_be_compared_in_pairs() -> None:
    with pytest.raises(ValueError, match="elapsed_p95_ms is no mean"):
        paired(many(1), many(2), elapsed_percentile(0.95))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_the_p_value_of_points_is_that_of_all_exchanges(halves: list[int]) -> None:
    differences = np.array(halves) / 2
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(each >= abs(differences.sum()) for each in sums) / len(sums)
    assert sign_flip_p(differences, np.random.default_rng(0)) == pytest.approx(expected)


def test_the_p_value_of_times_is_near_that_of_all_exchanges() -> None:
    chance = random.Random(3)
    differences = np.array([chance.gauss(0.5, 1.0) for _ in range(14)])
    exact = sign_flip_p(differences, np.random.default_rng(0))
    doubled = np.concatenate([differences, np.full(3, 1e-12)])  # too many to go through
    assert sign_flip_p(doubled, np.random.default_rng(0)) == pytest.approx(exact, abs=0.02)


def test_several_tests_are_each_held_to_more() -> None:
    corrected = holm([0.04, 0.01, math.nan, 0.03])
    assert corrected[:2] == pytest.approx([0.06, 0.03])
    assert math.isnan(corrected[2])
    assert corrected[3] == pytest.approx(0.06)
    assert holm([0.9, 0.8]) == [1, 1]


def test_successful_turns_stop_early() -> None:
    answers = [*session("a", C, C, X), *session("b", X, M, C, C)]
    assert turns_succeeded(BASELINE).of(answers) == 1
    assert turns_succeeded(KDD).of([Scored(turn_record(GOLD), Judgement(C, ""))]) is not None
