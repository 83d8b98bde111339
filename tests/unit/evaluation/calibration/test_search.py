"""Search for the best thresholds."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evaluation.calibration.promise import (
    Figures,
    chooser,
    compare_with_promise,
    cross_validate,
    figures_of,
    wrong_by_conversation,
)
from evaluation.calibration.replay import CalibrationError, Cutoffs, Floats, Signals, join, replay
from evaluation.calibration.search import best_cutoffs, loosest_below, losses, through
from evaluation.scoring.intervals import Interval
from tests.unit.evaluation.calibration.generated_signals import OPEN, USUAL, generated, unmeasured


def truthfulness(signals: Signals, cutoffs: Cutoffs) -> float:
    return float(replay(signals, cutoffs).mean())


@pytest.mark.parametrize("seed", range(2))
def test_search_finds_the_best_of_a_full_raster(seed: int) -> None:
    signals = generated(np.random.default_rng(seed), 80, coarse=5, tokens=False)
    signals = replace(signals, p_direct=np.full(80, np.nan))
    raster = product([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], repeat=3)
    names = ("answer_confidence", "supported", "judged")
    settings = (replace(USUAL, **dict(zip(names, values, strict=True))) for values in raster)
    best = max(truthfulness(signals, each) for each in settings)
    assert truthfulness(signals, best_cutoffs(signals, USUAL)) == pytest.approx(best)


def measured(confidence: Floats, proposed: Floats) -> Signals:
    """Return signals with only `confidence` and `proposed` measured."""
    count = len(confidence)
    return unmeasured(
        generated(np.random.default_rng(5), count, tokens=False),
        proposed=proposed,
        answer_confidence=confidence,
        citable=np.ones(count, bool),
    )


def test_planted_optimum_is_found_mid_gap() -> None:
    confidence = np.linspace(0.0, 0.99, 100)
    signals = measured(confidence, np.where(confidence >= 0.7, 1.0, -1.0))
    result = best_cutoffs(signals, USUAL)
    assert 0.69 < result.answer_confidence <= 0.7
    assert replace(result, answer_confidence=0.4) == USUAL  # nothing else had to move


def test_planted_token_thresholds_are_found() -> None:
    """Right from .55 as the least and from .8 on average; the rest as it always is."""
    rng = np.random.default_rng(7)
    low, mean = np.round(rng.random((2, 200)) * 20) / 20
    signals = unmeasured(
        generated(rng, 200),
        proposed=np.where((low >= 0.55) & (mean >= 0.8), 1.0, -1.0),
        token_min=low,
        token_mean=mean,
        answer_confidence=np.ones(200),
        citable=np.ones(200, bool),
    )
    result = best_cutoffs(signals, replace(USUAL, supported=0.0))
    assert result.token_min == pytest.approx(0.55, abs=0.05)
    assert result.token_mean == pytest.approx(0.8, abs=0.05)
    assert not np.any(replay(signals, result) < 0.0)


def test_router_is_searched_only_on_full_runs() -> None:
    signals = generated(np.random.default_rng(7), 200, tokens=False)
    right = signals.p_direct > 0.8
    signals = replace(signals, draft=np.where(np.isnan(signals.p_direct), np.nan, np.where(right, 1.0, -1.0)))
    result = best_cutoffs(signals, USUAL)
    assert 0.75 < result.direct_from < 0.82
    gone = replace(signals, went_direct=np.arange(200) < 3)
    assert best_cutoffs(gone, USUAL).direct_from == USUAL.direct_from


DRAWS = 150
PATH = [replace(OPEN, answer_confidence=k / 20) for k in range(21)]


def population(rng: np.random.Generator, sessions: int) -> Signals:
    """Answers that are wrong with probability 1 - c at a confidence of c: the risk is known."""
    confidence = rng.random(sessions)
    return measured(confidence, np.where(rng.random(sessions) < confidence, 1.0, -1.0))


def test_mean_risk_stays_below_the_ceiling() -> None:
    rng = np.random.default_rng(0)
    chosen = [loosest_below(0.1, population(rng, 60), PATH).answer_confidence for _ in range(DRAWS)]
    # The integral of 1 - confidence from the threshold to 1.
    risks = [(1.0 - least) ** 2 / 2 for least in chosen]
    slack = 3 * float(np.std(risks)) / math.sqrt(DRAWS)
    assert np.mean(risks) <= 0.1 + slack
    assert np.mean(risks) >= 0.05  # and it does not withhold for nothing


def test_loosest_thresholds_need_19_conversations_without_errors() -> None:
    perfect = replace(population(np.random.default_rng(2), 200), proposed=np.ones(200))
    assert loosest_below(0.05, perfect.where(np.arange(19)), PATH) == PATH[0]
    with pytest.raises(CalibrationError, match="at least 19 conversations"):
        loosest_below(0.05, perfect.where(np.arange(18)), PATH)


def test_unreachable_risk_ceiling_is_refused() -> None:
    count = 200
    gone = replace(
        population(np.random.default_rng(3), count),
        went_direct=np.ones(count, bool),
        draft=np.where(np.arange(count) % 5 == 0, -1.0, 1.0),
    )
    with pytest.raises(CalibrationError, match=r"20\.0 %"):
        loosest_below(0.05, gone, PATH)


def test_stricter_thresholds_never_answer_more() -> None:
    path = through(USUAL)
    fresh = generated(np.random.default_rng(5), 300)
    given_before = replay(fresh, path[0]) != 0.0
    for cutoffs in path[1:]:
        now = replay(fresh, cutoffs) != 0.0
        assert not np.any(now & ~given_before)
        given_before = now


def under(signals: Signals, cutoffs: Cutoffs) -> Figures:
    return figures_of(signals, replay(signals, cutoffs))


def noise(seed: int) -> Signals:
    rng = np.random.default_rng(seed)
    signals = generated(rng, 60, tokens=False)
    nothing = np.full(60, np.nan)
    return replace(signals, proposed=rng.choice([1.0, -1.0], 60), p_direct=nothing, support=nothing)


def test_cross_validation_expects_no_gain_from_noise() -> None:
    flattered, expected = [], []
    for seed in range(6):
        signals = noise(seed)
        choose = chooser(None, USUAL)
        flattered.append(under(signals, choose(signals)).truthfulness)
        result = cross_validate(signals, choose)
        assert result is not None
        expected.append(result.truthfulness)
    assert np.mean(flattered) > 0.0
    assert np.mean(expected) < np.mean(flattered) / 2


def test_folds_never_share_conversations() -> None:
    signals = generated(np.random.default_rng(1), 40, turns=2, tokens=False)
    trained: list[set[int]] = []

    def choose(some: Signals) -> Cutoffs:
        trained.append({int(session) for session in some.session})
        return USUAL

    assert cross_validate(signals, choose) is not None
    everyone = {int(session) for session in signals.session}
    held = [everyone - some for some in trained]
    assert set().union(*held) == everyone
    assert sum(len(some) for some in held) == len(everyone)


def test_too_few_conversations_have_no_estimate() -> None:
    signals = noise(4)
    assert cross_validate(signals.where(np.arange(3)), chooser(None, USUAL)) is None

    def refuse(_: Signals) -> Cutoffs:
        raise CalibrationError("too few")

    assert cross_validate(signals, refuse) is None


def test_risk_ceiling_counts_conversations() -> None:
    signals = unmeasured(
        generated(np.random.default_rng(0), 8, tokens=False),
        session=np.array([0, 1, 2, 3, 3, 3, 3, 3]),
        proposed=np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 0.0]),
        citable=np.arange(8) != 0,
    )
    assert under(signals, OPEN).hallucination == 0.5
    among_all, low = wrong_by_conversation(signals, OPEN)
    assert low == 0.0
    assert among_all == pytest.approx(losses(signals, OPEN).mean())
    assert among_all == pytest.approx(0.8 / 4)
    holds, sentence = compare_with_promise(0.3, under(signals, OPEN), under(signals, OPEN), (0.2, 0.0))
    assert holds is True
    assert "every conversation counts alike" in sentence


@pytest.mark.parametrize(
    ("wrong", "low", "expected"), [(0.01, 0.0, True), (0.03, 0.01, None), (0.06, 0.03, False)]
)
def test_risk_ceiling_is_broken_only_by_a_significant_excess(
    wrong: float, low: float, expected: bool | None
) -> None:
    measured = {"hallucination": wrong, "hallucination_range": Interval(low=low, high=0.1)}
    result = under(noise(4), OPEN).model_copy(update=measured)
    holds, sentence = compare_with_promise(0.02, result, result)
    assert holds is expected
    assert "at most 2 %" in sentence


def test_joined_runs_keep_their_conversations_apart() -> None:
    one, other = noise(6), noise(7)
    both = join([one, other])
    assert (len(both), both.sessions) == (120, one.sessions + other.sessions)
    separately = [under(each, USUAL).truthfulness for each in (one, other)]
    assert under(both, USUAL).truthfulness == pytest.approx(np.mean(separately))
