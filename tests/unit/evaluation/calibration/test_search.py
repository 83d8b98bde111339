"""Search for the best thresholds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evaluation.calibration.replay import Cutoffs, Signals, replay
from evaluation.calibration.search import best_cutoffs
from tests.unit.evaluation.calibration.generated_signals import USUAL, generated


def truthfulness(signals: Signals, cutoffs: Cutoffs) -> float:
    return float(replay(signals, cutoffs).mean())


@pytest.mark.parametrize("seed", range(2))
def test_search_finds_the_best_of_a_full_raster(seed: int) -> None:
    signals = generated(np.random.default_rng(seed), 80, coarse=5, tokens=False)
    signals = replace(signals, p_direct=np.full(80, np.nan))
    raster = product([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], repeat=3)
    names = ("answer_confidence", "supported", "judged")
    settings = (USUAL.with_values(dict(zip(names, values, strict=True))) for values in raster)
    best = max(truthfulness(signals, each) for each in settings)
    assert truthfulness(signals, best_cutoffs(signals, USUAL)) == pytest.approx(best)


def test_planted_optimum_is_found_mid_gap() -> None:
    confidence = np.linspace(0.0, 0.99, 100)
    nothing = np.full(100, np.nan)
    signals = replace(
        generated(np.random.default_rng(5), 100, tokens=False),
        proposed=np.where(confidence >= 0.7, 1.0, -1.0),
        answer_confidence=confidence,
        citable=np.ones(100, bool),
        support=np.full(100, 0.8),
        judged=nothing,
        judge_token_min=nothing,
        judge_token_mean=nothing,
        draft=nothing,
        p_direct=nothing,
    )
    found = best_cutoffs(signals, USUAL)
    assert 0.69 < found.answer_confidence <= 0.7
    assert replace(found, answer_confidence=0.4) == USUAL  # nothing else had to move


def test_planted_token_thresholds_are_found() -> None:
    """Right from .55 as the least and from .8 on average; the rest as it always is."""
    rng = np.random.default_rng(7)
    low, mean = np.round(rng.random((2, 200)) * 20) / 20
    silent = np.full(200, np.nan)
    signals = replace(
        generated(rng, 200),
        proposed=np.where((low >= 0.55) & (mean >= 0.8), 1.0, -1.0),
        token_min=low,
        token_mean=mean,
        support=silent,
        evidence_support=silent,
        judged=silent,
        judge_token_min=silent,
        judge_token_mean=silent,
        p_direct=silent,
        answer_confidence=np.ones(200),
        citable=np.ones(200, bool),
    )
    found = best_cutoffs(signals, replace(USUAL, supported=0.0))
    assert found.token_min == pytest.approx(0.55, abs=0.05)
    assert found.token_mean == pytest.approx(0.8, abs=0.05)
    assert not np.any(replay(signals, found) < 0.0)


def test_router_is_searched_only_on_full_runs() -> None:
    signals = generated(np.random.default_rng(7), 200, tokens=False)
    right = signals.p_direct > 0.8
    signals = replace(signals, draft=np.where(np.isnan(signals.p_direct), np.nan, np.where(right, 1.0, -1.0)))
    found = best_cutoffs(signals, USUAL)
    assert 0.75 < found.direct_from < 0.82
    gone = replace(signals, went_direct=np.arange(200) < 3)
    assert best_cutoffs(gone, USUAL).direct_from == USUAL.direct_from


@pytest.mark.parametrize("points", [1.0, -1.0])
def test_extremes_give_all_or_nothing(points: float) -> None:
    signals = generated(np.random.default_rng(9), 50, tokens=False)
    drafts = np.full(50, np.nan)
    signals = replace(signals, proposed=np.full(50, points), draft=drafts, p_direct=drafts)
    found = replay(signals, best_cutoffs(signals, USUAL))
    assert found.sum() == (np.count_nonzero(signals.citable) if points > 0 else 0.0)
