"""Intervals and paired tests over conversations."""

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.judging.verdicts import Judgement, Verdict
from evaluation.scoring.intervals import compare_pairs, estimate, holm, sign_flip_p
from evaluation.scoring.measures import measure
from evaluation.scoring.protocols import Protocol, Scored
from tests.unit.evaluation.scoring.predictions import conversation, turn_record

KDD, BASELINE = Protocol.KDD_CUP_2025, Protocol.CRAG_MM_2026
C, M, X = Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT


def session(name: str, *verdicts: Verdict, ms: float = 100.0) -> list[Scored]:
    return conversation(*verdicts, session=name, client_ms=ms)


def many(seed: int, sessions: int = 60) -> list[Scored]:
    chance = random.Random(seed)
    return [
        each
        for n in range(sessions)
        for each in session(f"s{n}", *chance.choices((C, M, X), k=3), ms=chance.uniform(10, 1000))
    ]


@pytest.mark.parametrize(
    "name", ["truthfulness", "session_truthfulness", "elapsed_mean_ms", "elapsed_p95_ms", "early_stopped"]
)
def test_an_interval_holds_its_figure_and_is_the_same_every_time(name: str) -> None:
    answers, figure = many(1), measure(name, KDD)
    interval = estimate(answers, figure)
    assert interval.low <= figure.of(answers) <= interval.high
    assert interval == estimate(answers[::-1], figure)


@pytest.mark.parametrize("name", ["truthfulness", "elapsed_p95_ms"])
def test_interval_equals_a_naive_estimate(name: str) -> None:
    answers, figure = many(2, 30), measure(name, BASELINE)
    chance = np.random.default_rng(0)
    sessions = [answers[start : start + 3] for start in range(0, len(answers), 3)]
    drawn = []
    for _ in range(1500):
        again = [each for index in chance.integers(0, 30, 30) for each in sessions[index]]
        points = [each.judgement.verdict.points for each in again]
        times = sorted(each.record.client_ms for each in again)
        drawn.append(sum(points) / 90 if name == "truthfulness" else times[math.ceil(0.95 * 90) - 1])
    interval = estimate(answers, figure)
    low, high = np.quantile(drawn, [0.025, 0.975])
    slack = 0.25 * float(high - low)
    assert [interval.low, interval.high] == pytest.approx([low, high], abs=slack)


def test_empty_sets_have_no_interval_and_one_conversation_no_spread() -> None:
    truthfulness = measure("truthfulness", KDD)
    assert math.isnan(estimate([], truthfulness).low)
    assert math.isnan(compare_pairs([], many(1), truthfulness).p_value)
    only_failed = [Scored(turn_record(None), Judgement(M, ""))]
    assert math.isnan(estimate(only_failed, measure("elapsed_mean_ms", KDD)).high)
    alone = estimate(session("s", C, X, C), measure("truthfulness", BASELINE))
    assert (alone.low, alone.high) == (1 / 3, 1 / 3)


def test_pairs_are_compared_on_common_questions() -> None:
    a = [*session("a", C, C), *session("b", X)]
    b = [*session("b", C), *session("a", X), *session("c", C)]
    result = compare_pairs(a, b, measure("accuracy", BASELINE))
    assert (result.sessions, result.turns, result.difference) == (2, 2, 0)


def test_paired_difference_is_antisymmetric() -> None:
    a, b, truthfulness = many(1), many(2), measure("truthfulness", KDD)
    result, back = compare_pairs(a, b, truthfulness), compare_pairs(b, a, truthfulness)
    assert result.difference == pytest.approx(truthfulness.of(a) - truthfulness.of(b))
    assert result.difference == pytest.approx(-back.difference)
    assert result.p_value == pytest.approx(back.p_value)
    assert result.interval.low <= result.difference <= result.interval.high


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_p_value_equals_the_exact_permutation_test(halves: list[int]) -> None:
    differences = np.array(halves) / 2
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    expected = sum(each >= abs(differences.sum()) for each in sums) / len(sums)
    assert sign_flip_p(differences) == pytest.approx(expected)


def test_holm_correction_raises_p_values() -> None:
    corrected = holm([0.04, 0.01, math.nan, 0.03])
    assert corrected[:2] == pytest.approx([0.06, 0.03])
    assert math.isnan(corrected[2])
    assert corrected[3] == pytest.approx(0.06)
    assert holm([0.9, 0.8]) == [1, 1]
