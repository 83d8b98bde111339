"""Replay a run under other thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.calibration.replay import replay
from tests.unit.evaluation.calibration.generated_signals import OPEN, USUAL, generated


def test_a_draft_that_was_given_at_once_is_given_again() -> None:
    signals = generated(np.random.default_rng(1), 60, in_force=USUAL)
    signals = replace(signals, went_direct=np.arange(60) < 10, draft=np.ones(60))
    stricter = replay(signals, replace(USUAL, direct_from=1.0))
    assert list(stricter[:10]) == [1.0] * 10


def test_a_draft_is_given_at_once_from_both_thresholds_of_the_router_on() -> None:
    signals = replace(
        generated(np.random.default_rng(2), 4, tokens=False),
        proposed=np.full(4, -1.0),
        citable=np.ones(4, bool),
        answer_confidence=np.ones(4),
        draft=np.ones(4),
        draft_confidence=np.array([0.8, 0.79, 0.9, np.nan]),
        p_direct=np.array([0.5, 0.9, 0.49, np.nan]),
    )
    replayed = replay(signals, replace(OPEN, direct_confidence=0.8, direct_from=0.5))
    assert list(replayed) == [1.0, -1.0, -1.0, -1.0]
