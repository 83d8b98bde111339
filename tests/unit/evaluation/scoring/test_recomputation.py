"""Scores against an independent recomputation."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.scoring.measures import scores_of
from evaluation.scoring.protocols import Protocol
from tests.unit.evaluation.scoring.predictions import (
    JUDGED,
    SAID,
    Prediction,
    prediction,
    prediction_set,
    scored,
)
from tests.unit.evaluation.scoring.recomputation import recompute

SETS = 150


def differences(predictions: list[Prediction], protocol: Protocol) -> dict[str, tuple[float, float]]:
    """Every figure in which the two differ."""
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


@pytest.mark.parametrize("protocol", Protocol)
def test_sets_of_predictions_score_the_same_twice(protocol: Protocol) -> None:
    for seed in range(SETS):
        assert (seed, differences(prediction_set(seed), protocol)) == (seed, {})


CONVERSATION = st.lists(
    st.tuples(st.none() | st.sampled_from(SAID) | st.text(max_size=60), st.sampled_from(sorted(JUDGED))),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("protocol", Protocol)
@settings(max_examples=60)
@given(st.lists(CONVERSATION, min_size=1, max_size=5))
def test_any_predictions_score_the_same_twice(
    protocol: Protocol, conversations: list[list[tuple[str | None, str]]]
) -> None:
    rows = [
        prediction(said, judge, f"s{session}", turn, several=len(turns) > 1)
        for session, turns in enumerate(conversations)
        for turn, (said, judge) in enumerate(turns)
    ]
    assert differences(rows, protocol) == {}
