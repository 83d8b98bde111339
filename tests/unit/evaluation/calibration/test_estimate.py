"""Cross-validated estimates of thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation.calibration.calibrating import Aim
from evaluation.calibration.ceiling import Guarantee
from evaluation.calibration.replay import CalibrationError, Cutoffs, Signals, joined
from evaluation.calibration.report import cross_validated, kept, under, wrong_by_conversation
from tests.unit.evaluation.calibration.generated_signals import OPEN, USUAL, generated

AIM = Aim(tuned=("answer_confidence", "judged"))


def noise(seed: int) -> Signals:
    """Signals that say nothing of what is right."""
    rng = np.random.default_rng(seed)
    signals = generated(rng, 60, tokens=False)
    return replace(signals, proposed=rng.choice([1.0, -1.0], 60), p_direct=np.full(60, np.nan))


def test_cross_validation_expects_nothing_from_noise() -> None:
    flattered, expected = [], []
    for seed in range(12):
        signals = noise(seed)
        choose = AIM.chooser(USUAL)
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
    assert cross_validated(signals.where(np.arange(3)), AIM.chooser(USUAL)) is None

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
    )
    assert under(signals, OPEN).hallucination == 0.5
    guarantee = Guarantee(0.3)
    among_all, low = wrong_by_conversation(signals, OPEN)
    assert low == 0.0
    assert among_all == pytest.approx(guarantee.losses(signals, OPEN).mean())
    assert among_all == pytest.approx(0.8 / 4)
    held, told = kept(0.3, under(signals, OPEN), under(signals, OPEN), (0.2, 0.0))
    assert held is True
    assert "every conversation counts alike" in told


def test_joined_runs_keep_their_conversations_apart() -> None:
    one, other = noise(6), noise(7)
    both = joined([one, other])
    assert (len(both), both.sessions) == (120, one.sessions + other.sessions)
    separately = [under(each, USUAL).truthfulness for each in (one, other)]
    assert under(both, USUAL).truthfulness == pytest.approx(np.mean(separately))
