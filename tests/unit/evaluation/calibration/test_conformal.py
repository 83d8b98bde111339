"""Guarantees on wrong answers, curves and estimates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.calibration.ceiling import Guarantee, losses, p_value, through
from evaluation.calibration.promise import chooser, cross_validated, kept, under, wrong_by_conversation
from evaluation.calibration.replay import CalibrationError, Cutoffs, Signals, joined, replay
from tests.unit.evaluation.calibration.generated_signals import OPEN, USUAL, generated

DRAWS = 150
PATH = [replace(OPEN, answer_confidence=k / 20) for k in range(21)]


def population(rng: np.random.Generator, sessions: int, turns: int = 1) -> Signals:
    """Answers that are wrong with probability 1 - c at a confidence of c: the risk is known."""
    count = sessions * turns
    confidence = rng.random(count)
    nothing = np.full(count, np.nan)
    return replace(
        generated(rng, count, turns=turns, tokens=False),
        proposed=np.where(rng.random(count) < confidence, 1.0, -1.0),
        answer_confidence=confidence,
        citable=np.ones(count, bool),
        support=nothing,
        judged=nothing,
        judge_token_min=nothing,
        judge_token_mean=nothing,
        draft=nothing,
        p_direct=nothing,
    )


def risk_among_all(cutoffs: Cutoffs) -> float:
    """The integral of 1 - c from the threshold to 1."""
    return (1.0 - cutoffs.answer_confidence) ** 2 / 2


def chosen_or_none(guarantee: Guarantee, signals: Signals) -> Cutoffs | None:
    try:
        return guarantee.choose(signals, PATH)
    except CalibrationError:
        return None


def test_mean_risk_stays_below_the_ceiling() -> None:
    rng = np.random.default_rng(0)
    guarantee = Guarantee(0.1)
    risks = [risk_among_all(guarantee.choose(population(rng, 60), PATH)) for _ in range(DRAWS)]
    slack = 3 * float(np.std(risks)) / math.sqrt(DRAWS)
    assert np.mean(risks) <= 0.1 + slack
    assert np.mean(risks) >= 0.05  # and it does not withhold for nothing


@pytest.mark.parametrize("turns", [1, 3])
def test_ceiling_holds_with_the_confidence(turns: int) -> None:
    rng = np.random.default_rng(turns)
    guarantee, ceiling = Guarantee(0.1, 0.8), 0.1
    chosen = [chosen_or_none(guarantee, population(rng, 100, turns)) for _ in range(DRAWS)]
    broken = np.mean([cutoffs is not None and risk_among_all(cutoffs) > ceiling for cutoffs in chosen])
    assert broken <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / DRAWS)
    assert sum(cutoffs is not None and cutoffs.answer_confidence < 0.8 for cutoffs in chosen) > DRAWS / 2


def test_too_few_conversations_are_refused() -> None:
    signals = population(np.random.default_rng(1), 30)
    with pytest.raises(CalibrationError, match="at least 49 conversations"):
        Guarantee(0.02).choose(signals, PATH)
    with pytest.raises(CalibrationError, match="at least 114 conversations"):
        Guarantee(0.02, 0.9).choose(signals, PATH)


@pytest.mark.parametrize("guarantee", [Guarantee(0.05), Guarantee(0.05, 0.9), Guarantee(0.3, 0.95)])
def test_minimum_number_of_conversations(guarantee: Guarantee) -> None:
    enough = replace(population(np.random.default_rng(2), 200), proposed=np.ones(200))
    count = guarantee.fewest_sessions
    assert guarantee.choose(enough.where(np.arange(count)), PATH) == PATH[0]
    with pytest.raises(CalibrationError):
        guarantee.choose(enough.where(np.arange(count - 1)), PATH)


def test_a_ceiling_that_the_strictest_thresholds_break_is_refused() -> None:
    count = 200
    gone = replace(
        population(np.random.default_rng(3), count),
        went_direct=np.ones(count, bool),
        draft=np.where(np.arange(count) % 5 == 0, -1.0, 1.0),
    )
    with pytest.raises(CalibrationError, match=r"20\.0 %"):
        Guarantee(0.05).choose(gone, PATH)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(0.01, 0.9))
def test_p_values_are_probabilities_and_fall_with_the_losses(losses: list[float], ceiling: float) -> None:
    drawn = np.array(losses)
    smaller, larger = p_value(drawn / 2 + 1e-6, ceiling), p_value(np.minimum(drawn / 2 + 0.5, 1.0), ceiling)
    assert 0.0 <= p_value(drawn, ceiling) <= 1.0
    assert smaller <= larger + 1e-12


def test_along_a_path_ever_less_is_given() -> None:
    path = through(USUAL)
    fresh = generated(np.random.default_rng(5), 300)
    given_before = replay(fresh, path[0]).given
    for cutoffs in path[1:]:
        now = replay(fresh, cutoffs).given
        assert not np.any(now & ~given_before)
        given_before = now


def noise(seed: int) -> Signals:
    """Signals that say nothing of what is right."""
    rng = np.random.default_rng(seed)
    signals = generated(rng, 60, tokens=False)
    nothing = np.full(60, np.nan)
    return replace(signals, proposed=rng.choice([1.0, -1.0], 60), p_direct=nothing, support=nothing)


def test_cross_validation_expects_nothing_from_noise() -> None:
    flattered, expected = [], []
    for seed in range(6):
        signals = noise(seed)
        choose = chooser(None, USUAL)
        flattered.append(under(signals, choose(signals)).truthfulness)
        found = cross_validated(signals, choose)
        assert found is not None
        expected.append(found.truthfulness)
    assert np.mean(flattered) > 0.0
    assert np.mean(expected) < np.mean(flattered) / 2


def test_folds_never_share_conversations() -> None:
    signals = generated(np.random.default_rng(1), 40, turns=2, tokens=False)
    trained: list[set[int]] = []

    def choose(some: Signals) -> Cutoffs:
        trained.append({int(session) for session in some.session})
        return USUAL

    assert cross_validated(signals, choose) is not None
    everyone = {int(session) for session in signals.session}
    held = [everyone - some for some in trained]
    assert set().union(*held) == everyone
    assert sum(len(some) for some in held) == len(everyone)


def test_too_few_conversations_have_no_estimate() -> None:
    signals = noise(4)
    assert cross_validated(signals.where(np.arange(3)), chooser(None, USUAL)) is None

    def refuse(_: Signals) -> Cutoffs:
        raise CalibrationError("too few")

    assert cross_validated(signals, refuse) is None


def test_guarantee_counts_conversations() -> None:
    signals = replace(
        generated(np.random.default_rng(0), 8, tokens=False),
        session=np.array([0, 1, 2, 3, 3, 3, 3, 3]),
        proposed=np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 0.0]),
        citable=np.arange(8) != 0,
        draft=np.full(8, np.nan),
        p_direct=np.full(8, np.nan),
        support=np.full(8, np.nan),
        judged=np.full(8, np.nan),
        judge_token_min=np.full(8, np.nan),
        judge_token_mean=np.full(8, np.nan),
    )
    assert under(signals, OPEN).hallucination == 0.5
    among_all, low = wrong_by_conversation(signals, OPEN)
    assert low == 0.0
    assert among_all == pytest.approx(losses(signals, OPEN).mean())
    assert among_all == pytest.approx(0.8 / 4)
    is_kept, sentence = kept(0.3, under(signals, OPEN), under(signals, OPEN), (0.2, 0.0))
    assert is_kept is True
    assert "every conversation counts alike" in sentence


def test_joined_runs_keep_their_conversations_apart() -> None:
    one, other = noise(6), noise(7)
    both = joined([one, other])
    assert (len(both), both.sessions) == (120, one.sessions + other.sessions)
    separately = [under(each, USUAL).truthfulness for each in (one, other)]
    assert under(both, USUAL).truthfulness == pytest.approx(np.mean(separately))
