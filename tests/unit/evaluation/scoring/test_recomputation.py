"""Scores against an independent recomputation."""

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.scoring.measures import scores_of
from evaluation.scoring.protocols import Protocol
from tests.unit.evaluation.scoring.predictions import (
    GOLD,
    JUDGED,
    REFUSAL,
    SAID,
    WORDS,
    Prediction,
    prediction,
    scored,
)
from tests.unit.evaluation.scoring.recomputation import recompute


def differences(predictions: list[Prediction], protocol: Protocol) -> dict[str, tuple[float, float]]:
    ours = scores_of([scored(each) for each in predictions], protocol)
    theirs = recompute([dict(each) for each in predictions], protocol.value)
    assert ours.pop("acceptable") == 0
    figures = {name: value for name, value in ours.items() if not math.isnan(value)}
    assert figures.keys() == theirs.keys()
    return {
        name: (figures[name], value)
        for name, value in theirs.items()
        if figures[name] != pytest.approx(value, abs=1e-12)
    }


LONG = st.lists(
    st.sampled_from((*WORDS, "I don't know", "i do not know", GOLD)), min_size=20, max_size=90
).map(" ".join)
"""Of about the length of the cut, with a refusal or the gold before it, on it, or behind it."""
CONVERSATION = st.lists(
    st.tuples(
        st.none() | st.sampled_from(SAID) | st.text(max_size=60) | LONG,
        st.sampled_from(sorted(JUDGED)),
        st.sampled_from((GOLD, GOLD, REFUSAL)),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("protocol", Protocol)
@settings(max_examples=120)
@given(st.lists(CONVERSATION, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_scores_equal_an_independent_recomputation(
    protocol: Protocol, conversations: list[list[tuple[str | None, str, str]]], chance: Random
) -> None:
    rows = [
        prediction(text, judge, f"s{session}", turn, several=len(turns) > 1, gold=gold)
        for session, turns in enumerate(conversations)
        for turn, (text, judge, gold) in enumerate(turns)
    ]
    chance.shuffle(rows)
    assert differences(rows, protocol) == {}
