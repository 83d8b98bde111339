"""Replay a run under other thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evaluation.calibration.replay import replay
from tests.unit.evaluation.calibration.generated_signals import OPEN, USUAL, generated


def test_direct_answers_replay_as_uncertain() -> None:
    signals = generated(np.random.default_rng(1), 60, in_force=USUAL)
    went = np.zeros(60, bool)
    went[:10] = True
    signals = replace(
        signals,
        went_direct=went,
        given=np.ones(60, bool),
        draft=np.where(went, 1.0, np.nan),
        draft_confidence=np.where(went, 0.9, np.nan),
        p_direct=np.where(went, 0.9, np.nan),
    )
    stricter = replay(signals, replace(USUAL, direct_from=1.0))
    assert stricter.given[:10].all()
    assert not stricter.exact[:10].any()
    assert replay(signals, USUAL).exact[:10].all()


def test_turns_after_a_changed_answer_are_uncertain() -> None:
    signals = replace(
        generated(np.random.default_rng(3), 4, turns=4, tokens=False),
        proposed=np.ones(4),
        citable=np.ones(4, bool),
        answer_confidence=np.array([0.9, 0.3, 0.9, 0.9]),
        support=np.full(4, np.nan),
        judged=np.full(4, np.nan),
        judge_token_min=np.full(4, np.nan),
        judge_token_mean=np.full(4, np.nan),
        p_direct=np.full(4, np.nan),
        given=np.ones(4, bool),
    )
    replayed = replay(signals, replace(OPEN, answer_confidence=0.5))
    assert list(replayed.given) == [True, False, True, True]
    assert list(replayed.exact) == [True, True, False, False]


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
    assert list(replayed.points) == [1.0, -1.0, -1.0, -1.0]
