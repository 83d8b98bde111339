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
from evaluation.scoring.scored import Scored
from evaluation.scoring.scores import scores_of
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


def test_an_interval_is_what_drawing_conversations_one_by_one_gives() -> None:
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


def test_turns_of_one_conversation_say_less_than_as_many_conversations() -> None:
    together = [each for n in range(20) for each in session(f"s{n}", *[C if n % 2 else X] * 6)]
    apart = [each for n in range(120) for each in session(f"s{n}", C if n % 2 else X)]
    wide, narrow = (bootstrap(each, truthfulness(BASELINE)) for each in (together, apart))
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_ninety_five_in_a_hundred_intervals_hold_the_truth() -> None:
    """The rate is .6; 200 samples of 100 conversations. Three standard errors of slack."""
    chance = random.Random(5)
    held = 0
    for seed in range(200):
        answers = [each for n in range(100) for each in session(f"s{n}", C if chance.random() < 0.6 else X)]
        interval = bootstrap(answers, accuracy(BASELINE), resamples=400, seed=seed)
        held += interval.low <= 0.6 <= interval.high
    assert held / 200 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


def test_nothing_has_no_interval() -> None:
    interval = bootstrap([], truthfulness(KDD))
    assert math.isnan(interval.low)
    assert math.isnan(paired([], many(1), truthfulness(KDD)).p_value)
    only_failed = [Scored(turn_record(None), Judgement(M, ""))]
    assert math.isnan(bootstrap(only_failed, elapsed()).high)


def test_one_conversation_has_an_interval_of_one_point() -> None:
    interval = bootstrap(session("s", C, X), truthfulness(BASELINE))
    assert (interval.low, interval.high) == (0, 0)


def test_a_run_compared_with_itself_differs_by_nothing() -> None:
    found = paired(many(1), many(1), truthfulness(KDD))
    assert (found.difference, found.p_value, found.interval.low, found.interval.high) == (0, 1, 0, 0)


def test_only_questions_that_both_have_are_compared() -> None:
    a = [*session("a", C, C), *session("b", X)]
    b = [*session("b", C), *session("a", X), *session("c", C)]
    found = paired(a, b, accuracy(BASELINE))
    assert (found.sessions, found.turns, found.difference) == (2, 2, 0)
    assert paired(a, b, truthfulness(BASELINE)).difference == 0


def test_the_difference_is_that_of_the_figures_whichever_comes_first() -> None:
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


def test_a_clear_difference_is_hardly_chance() -> None:
    assert sign_flip_p(np.full(30, 1.0), np.random.default_rng(0)) == pytest.approx(2 / 2**30)
    assert sign_flip_p(np.zeros(30), np.random.default_rng(0)) == 1


def test_several_tests_are_each_held_to_more() -> None:
    corrected = holm([0.04, 0.01, math.nan, 0.03])
    assert corrected[:2] == pytest.approx([0.06, 0.03])
    assert math.isnan(corrected[2])
    assert corrected[3] == pytest.approx(0.06)
    assert holm([0.9, 0.8]) == [1, 1]


def test_turns_that_succeed_are_counted_by_conversation_until_it_is_given_up() -> None:
    answers = [*session("a", C, C, X), *session("b", X, M, C, C)]
    assert turns_succeeded(BASELINE).of(answers) == 1
    assert turns_succeeded(KDD).of([Scored(turn_record(GOLD), Judgement(C, ""))]) is not None


def test_failed_requests_have_no_time() -> None:
    answers = [Scored(turn_record("so", session="a", client_ms=40), Judgement(C, ""))]
    answers.append(Scored(turn_record(None, session="b", client_ms=9000), Judgement(M, "")))
    assert elapsed().of(answers) == 40
    assert elapsed_percentile(0.5).of(answers) == 40


def test_the_interval_of_a_percentile_is_what_drawing_one_by_one_gives() -> None:
    answers, measure = many(7, 25), elapsed_percentile(0.5)
    chance = np.random.default_rng(0)
    times = [answers[start].record.client_ms for start in range(0, len(answers), 3)]
    drawn = [sorted(times[index] for index in chance.integers(0, 25, 25))[12] for _ in range(3000)]
    interval = bootstrap(answers, measure, resamples=3000)
    low, high = np.quantile(drawn, [0.025, 0.975])
    ranks = sorted(times)
    assert abs(ranks.index(interval.low) - int(np.searchsorted(ranks, low))) <= 1
    assert abs(ranks.index(interval.high) - int(np.searchsorted(ranks, high))) <= 1
