"""Replay a run under other thresholds."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from evaluation.calibration.replay import ANSWER, OF_JUDGE, ROUTER, Cutoffs, Signals, replay
from tests.unit.evaluation.calibration.generated_signals import OPEN, USUAL, bend, generated


def drawn(rng: np.random.Generator) -> Cutoffs:
    edges = [0.0, 0.25, 0.5, rng.random(), 0.75, 1.0]
    values = {name: float(rng.choice(edges)) for name in (*ANSWER, *ROUTER)}
    return Cutoffs(**values)


def said(signals: Signals, place: int, cutoffs: Cutoffs) -> float:
    """One question's points, written down from the gateway's rule step by step."""
    row = signals.where(np.array([place]))
    names = [field.name for field in fields(row) if field.name != "in_force"]
    heard = {name: float(getattr(row, name)[0]) for name in names}
    known = {name: value for name, value in heard.items() if not math.isnan(value)}
    sure = known.get("draft_confidence", -1.0) >= cutoffs.direct_confidence
    if sure and known.get("p_direct", -1.0) >= cutoffs.direct_from:
        return known.get("draft", 0.0)
    if not known["citable"] or known.get("answer_confidence", 1.0) < cutoffs.answer_confidence:
        return 0.0
    return known.get("proposed", 0.0) if verified(known, cutoffs) else 0.0


def verified(known: dict[str, float], cutoffs: Cutoffs) -> bool:
    if known.get("token_min", 1.0) < cutoffs.token_min or known.get("token_mean", 1.0) < cutoffs.token_mean:
        return False
    if any(known.get(name, 1.0) < getattr(cutoffs, name) for name in ("judged", *OF_JUDGE)):
        return False
    return "support" not in known or supported(known, cutoffs) >= cutoffs.supported


def supported(known: dict[str, float], cutoffs: Cutoffs) -> float:
    if "token_min" not in known:
        return known["support"]
    parts = [bend(known["token_min"], cutoffs.token_min), bend(known["token_mean"], cutoffs.token_mean)]
    parts += [known["evidence_support"]] if "evidence_support" in known else []
    parts += [known["judged"]] if "judged" in known else []
    return min(parts)


@pytest.mark.parametrize("seed", range(4))
def test_replay_equals_the_rule_question_by_question(seed: int) -> None:
    rng = np.random.default_rng(seed)
    signals = generated(rng, 150, coarse=8 if seed % 2 else None)
    for _ in range(4):
        cutoffs = drawn(rng)
        expected = [said(signals, place, cutoffs) for place in range(len(signals))]
        np.testing.assert_array_equal(replay(signals, cutoffs).points, expected)


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
