"""The histogram behind live latencies."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.planning.decayed_histogram import DecayedHistogram, bucket_of


@given(st.lists(st.floats(1e-5, 50), min_size=1, max_size=100), st.floats(0.05, 1))
def test_a_quantile_is_within_the_error_of_the_value_it_stands_for(values: list[float], share: float) -> None:
    histogram = DecayedHistogram(half_life=1e9)
    for now, value in enumerate(values):
        histogram.add(value, now)
    (quantile,) = histogram.quantiles((share,))
    assert sum(value <= quantile * 1.026 for value in values) >= share * len(values) - 1e-6
    assert sum(value < quantile / 1.026 for value in values) < share * len(values) + 1e-6


def test_what_is_long_past_is_forgotten() -> None:
    histogram = DecayedHistogram(half_life=50)
    for now in range(5_000):
        histogram.add(1.0, now)
    for now in range(5_000, 5_400):
        histogram.add(0.01, now)
    assert histogram.quantiles((0.95,)) == [pytest.approx(0.01, rel=0.03)]


def test_the_weight_is_what_is_left_of_the_values() -> None:
    histogram = DecayedHistogram(half_life=10)
    histogram.add(1.0, 0.0)
    histogram.add(1.0, 10.0)
    assert histogram.weight(10.0) == pytest.approx(1.5)
    assert histogram.weight(20.0) == pytest.approx(0.75)
    histogram.clear()
    assert (histogram.is_empty, histogram.weight(20.0)) == (True, 0.0)


def test_a_prior_counts_for_its_share() -> None:
    histogram = DecayedHistogram(half_life=10)
    assert histogram.quantiles((0.5,)) == [math.inf]
    prior = {bucket_of(100.0): 1.0}
    assert histogram.quantiles((0.5,), prior) == [pytest.approx(100.0, rel=0.03)]
    histogram.add(1.0, 0.0)
    below, above = histogram.quantiles((0.7, 0.9), prior, prior_share=0.2)
    assert (below, above) == (pytest.approx(1.0, rel=0.03), pytest.approx(100.0, rel=0.03))


def test_its_size_is_bounded_whatever_it_is_given() -> None:
    histogram = DecayedHistogram(half_life=1)
    for now in range(3_000):
        histogram.add(10.0 ** (now % 40 - 20), now)
    assert len(histogram._buckets) < 500
    assert all(math.isfinite(quantile) for quantile in histogram.quantiles((0.0, 0.5, 1.0)))
