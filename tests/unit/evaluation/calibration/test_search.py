"""Search for the best thresholds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from evaluation.calibration.replay import CalibrationError, Cutoffs, Signals, basis_of, joined, rates, replay
from evaluation.calibration.search import Objective, Search
from tests.unit.evaluation.calibration.generated_signals import USUAL, generated

BY_DOUBT = ("answer_confidence", "supported", "judged")


def value(signals: Signals, cutoffs: Cutoffs, objective: Objective) -> float:
    found = rates(replay(signals, cutoffs).points)
    if objective.ceiling is None:
        return found.truthfulness
    return found.accuracy + found.acceptable / 2 if found.hallucination <= objective.ceiling else -np.inf


def exhaustively(signals: Signals, objective: Objective, names: tuple[str, ...], steps: int) -> float:
    """The best value of a raster that holds every breakpoint of signals with `steps` values."""
    raster = [k / steps for k in range(steps)] + [1.0]
    settings = (dict(zip(names, values, strict=True)) for values in product(raster, repeat=len(names)))
    return max(value(signals, USUAL.with_values(each), objective) for each in settings)


@pytest.mark.parametrize("ceiling", [None, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_search_finds_the_best_of_a_full_raster(seed: int, ceiling: float | None) -> None:
    signals = generated(np.random.default_rng(seed), 80, coarse=5, tokens=False)
    signals = replace(signals, p_direct=np.full(80, np.nan)) if ceiling else signals
    objective = Objective(ceiling)
    found = Search(USUAL, objective, BY_DOUBT).best(signals)
    best = exhaustively(signals, objective, BY_DOUBT, 5)
    assert value(signals, found, objective) == pytest.approx(best)


def test_planted_optimum_is_found_mid_gap() -> None:
    signals = generated(np.random.default_rng(5), 100, tokens=False)
    confidence = np.linspace(0.0, 0.99, 100)
    signals = replace(
        signals,
        proposed=np.where(confidence >= 0.7, 1.0, -1.0),
        answer_confidence=confidence,
        citable=np.ones(100, bool),
        support=np.full(100, 0.8),
        judged=np.full(100, np.nan),
        draft=np.full(100, np.nan),
        p_direct=np.full(100, np.nan),
    )
    found = Search(USUAL).best(signals)
    assert 0.69 < found.answer_confidence <= 0.7
    assert replace(found, answer_confidence=0.4) == USUAL  # nothing else had to move


def test_planted_token_thresholds_are_found() -> None:
    """Right from .55 as the least and from .8 on average; the rest as it always is."""
    rng = np.random.default_rng(7)
    signals = generated(rng, 200)
    low, mean = np.round(rng.random((2, 200)) * 20) / 20
    right = np.where((low >= 0.55) & (mean >= 0.8), 1.0, -1.0)
    silent = np.full(200, np.nan)
    signals = replace(
        signals,
        proposed=right,
        token_min=low,
        token_mean=mean,
        support=silent,
        evidence_support=silent,
        judged=silent,
        p_direct=silent,
        answer_confidence=np.ones(200),
        citable=np.ones(200, bool),
    )
    base = replace(USUAL, supported=0.0)
    found = Search(base, Objective(), ("token_min", "token_mean")).best(signals)
    assert (found.token_min, found.token_mean) == (
        pytest.approx(0.55, abs=0.05),
        pytest.approx(0.8, abs=0.05),
    )
    assert rates(replay(signals, found).points).hallucination == 0


def test_a_basis_is_told_and_two_are_told_apart() -> None:
    signals = generated(np.random.default_rng(1), 40)
    free = replace(signals, token_grammar=np.where(np.isnan(signals.token_grammar), np.nan, 0.0))
    assert basis_of(signals) == "under a grammar"
    assert basis_of(free) == "over the whole vocabulary"
    assert "not alike" in basis_of(joined([signals, free]))
    assert basis_of(replace(signals, token_grammar=np.full(40, np.nan))) == ""


def test_thinned_settings_are_sharpened_one_by_one() -> None:
    signals = generated(np.random.default_rng(6), 150, tokens=False)
    everything = Search(USUAL, Objective(), BY_DOUBT).best(signals)
    thinned = Search(USUAL, Objective(), BY_DOUBT, settings=200).best(signals)
    best, close = (value(signals, each, Objective()) for each in (everything, thinned))
    assert value(signals, USUAL, Objective()) < close <= best + 1e-9


def test_router_is_searched_only_on_full_runs() -> None:
    signals = generated(np.random.default_rng(7), 200, tokens=False)
    right = signals.p_direct > 0.8
    signals = replace(signals, draft=np.where(np.isnan(signals.p_direct), np.nan, np.where(right, 1.0, -1.0)))
    found = Search(USUAL).best(signals)
    assert 0.75 < found.direct_from < 0.82
    assert value(signals, found, Objective()) > value(signals, replace(found, direct_from=1.0), Objective())
    gone = replace(signals, went_direct=np.arange(200) < 3)
    assert Search(USUAL).best(gone).direct_from == USUAL.direct_from


def test_impossible_ceiling_is_refused() -> None:
    signals = generated(np.random.default_rng(8), 80)
    found = Search(USUAL, Objective(0.02)).best(signals)
    assert rates(replay(signals, found).points).hallucination <= 0.02
    hopeless = replace(signals, went_direct=np.ones(80, bool), draft=np.full(80, -1.0))
    with pytest.raises(CalibrationError, match="No thresholds"):
        Search(USUAL, Objective(0.02)).best(hopeless)


@pytest.mark.parametrize("points", [1.0, -1.0])
def test_extremes_give_all_or_nothing(points: float) -> None:
    signals = generated(np.random.default_rng(9), 50, tokens=False)
    drafts = np.full(50, np.nan)
    signals = replace(signals, proposed=np.full(50, points), draft=drafts, p_direct=drafts)
    found = replay(signals, Search(USUAL).best(signals))
    assert found.points.sum() == (np.count_nonzero(signals.citable) if points > 0 else 0.0)
