"""Calls are repeated within a budget, and not all at the same moment."""

from hypothesis import given
from hypothesis import strategies as st

from chassis.resilience.retries import RetryBudget


@given(st.integers(1, 2_000), st.floats(0, 0.5), st.integers(0, 10))
def test_no_more_than_the_share_and_the_burst_are_repeated(calls: int, share: float, burst: int) -> None:
    budget = RetryBudget(share, burst)
    repeated = 0
    for _ in range(calls):
        budget.called()
        repeated += budget.spend()
    assert repeated <= burst + share * calls + 1e-6


def test_what_was_saved_is_the_burst_and_no_more() -> None:
    budget = RetryBudget(0.1, 3)
    for _ in range(1_000):
        budget.called()
    assert [budget.spend() for _ in range(5)] == [True, True, True, False, False]


def test_pauses_differ_and_are_short() -> None:
    budget = RetryBudget()
    pauses = [budget.pause_s() for _ in range(50)]
    assert len(set(pauses)) == 50
    assert all(0.010 <= pause <= 0.050 for pause in pauses)
