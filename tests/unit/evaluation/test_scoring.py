"""CRAG-MM's scores and the early stop."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.judging.judge import Verdict
from evaluation.scoring import (
    degradations,
    errors,
    latencies,
    mean_over_sessions,
    percentile,
    refusals,
    score,
    scores_by,
    stop_early,
    with_early_stop,
)
from tests.unit.evaluation.outcomes import outcome

C, M, X = Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT
VERDICTS = st.lists(st.sampled_from(Verdict), max_size=12)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([M, M, C], [M, M, M]),
        ([X, M, C, C], [X, M, M, M]),
        ([X, X, X], [X, X, M]),
        ([C, X, C, X, C], [C, X, C, X, C]),
        ([C, C, X, X], [C, C, X, X]),
        ([M], [M]),
        ([], []),
    ],
)
def test_two_turns_in_a_row_that_are_not_correct_end_a_conversation(
    before: list[Verdict], after: list[Verdict]
) -> None:
    assert stop_early(before) == after


def test_an_early_stop_takes_what_came_right_later() -> None:
    assert score([M, M, C]).truthfulness == pytest.approx(1 / 3)
    assert score(stop_early([M, M, C])).truthfulness == 0


@given(VERDICTS)
def test_an_early_stop_never_gains_right_answers_or_hallucinations(verdicts: list[Verdict]) -> None:
    after = stop_early(verdicts)
    assert len(after) == len(verdicts)
    assert after.count(C) <= verdicts.count(C)
    assert after.count(X) <= verdicts.count(X)
    assert stop_early(after) == after


@given(VERDICTS.filter(bool))
def test_rates_add_up_to_one_and_bound_truthfulness(verdicts: list[Verdict]) -> None:
    scores = score(verdicts)
    assert scores.accuracy + scores.missing + scores.hallucination == pytest.approx(1)
    assert -1 <= -scores.hallucination <= scores.truthfulness <= scores.accuracy <= 1
    assert scores.count == len(verdicts)


def test_no_answers_have_no_score() -> None:
    assert math.isnan(score([]).accuracy)
    assert score([]).count == 0


def test_each_conversation_is_stopped_by_its_own_turns() -> None:
    turns = [outcome(X, "a"), outcome(X, "a"), outcome(C, "b"), outcome(C, "a")]
    stopped = with_early_stop(turns)
    assert [(each.session_id, each.verdict) for each in stopped] == [("a", X), ("a", X), ("a", M), ("b", C)]


def test_conversations_weigh_the_same_whatever_their_length() -> None:
    turns = [outcome(C, "a"), *(outcome(X, "b") for _ in range(3))]
    scores = mean_over_sessions(turns)
    assert (scores.count, scores.accuracy, scores.truthfulness) == (2, 0.5, 0)


def test_groups_cover_every_outcome_once() -> None:
    turns = [outcome(C, quality="normal"), outcome(M, quality="blurred"), outcome(X, quality="normal")]
    groups = scores_by(turns, lambda each: each.turn.image_quality)
    assert {name: scores.count for name, scores in groups.items()} == {"blurred": 1, "normal": 2}
    assert groups["normal"].truthfulness == 0


def test_refusals_are_told_apart_by_whether_they_were_right() -> None:
    turns = [
        outcome(M, answerable=False), outcome(X, answerable=False), outcome(M), outcome(C),
        outcome(M, error="overloaded"), outcome(M, answerable=False, error="overloaded"),
    ]  # fmt: skip
    counted = refusals(turns)
    assert (counted.kept, counted.unanswerable, counted.timid, counted.answerable) == (1, 3, 1, 3)


def test_failed_requests_are_counted_by_name() -> None:
    turns = [outcome(M, error="overloaded"), outcome(C), outcome(M, error="overloaded")]
    assert errors(turns) == {"overloaded": 2}


def test_stages_are_timed_over_the_requests_in_which_they_ran() -> None:
    turns = [
        outcome(C, timings={"ocr": 10.0, "total": 50.0}, degraded=["verifier"]),
        outcome(C, timings={"ocr": 30.0, "draft": 5.0, "total": 70.0}, degraded=["verifier", "cropper"]),
        outcome(M, error="overloaded"),
    ]
    found = latencies(turns)
    assert list(found) == ["ocr", "draft", "total", "client"]
    assert (found["ocr"].count, found["ocr"].p50, found["ocr"].p95) == (2, 10, 30)
    assert found["draft"].count == 1
    assert degradations(turns) == {"verifier": 2, "cropper": 1}


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0, 1))
def test_a_percentile_is_one_of_the_values_and_covers_its_share(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
