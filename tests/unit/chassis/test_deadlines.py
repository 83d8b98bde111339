"""Deadlines and the budget of retries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.errors import DeadlineExceeded
from chassis.resilience.breaker import RetryBudget
from chassis.resilience.deadlines import Deadline
from tests.virtual_time import ManualClock


def test_work_is_refused_if_too_little_time_remains() -> None:
    clock = ManualClock()
    deadline = Deadline.after_ms(500, clock)
    deadline.require(400)
    clock.now += 0.2
    assert (deadline.remaining_ms(), deadline.remaining_s()) == pytest.approx((300, 0.3))
    with pytest.raises(DeadlineExceeded):
        deadline.require(400)
    clock.now += 10
    assert deadline.remaining_ms() == 0
    with pytest.raises(DeadlineExceeded):
        deadline.require()


@pytest.mark.parametrize(("total", "stage"), [(10_000, 1_500), (1_000, 800), (150, 0)])
def test_stage_deadline_is_its_cap_or_the_time_before_the_reserve(total: float, stage: float) -> None:
    assert Deadline.after_ms(total, ManualClock()).within(1_500, 200).remaining_ms() == pytest.approx(stage)


@given(total=st.floats(0, 1e6), cap=st.floats(0, 1e6), reserve=st.floats(0, 1e6), elapsed_s=st.floats(0, 2e3))
def test_a_stage_never_outlives_its_request(
    total: float, cap: float, reserve: float, elapsed_s: float
) -> None:
    clock = ManualClock()
    request = Deadline.after_ms(total, clock)
    clock.now += elapsed_s
    stage = request.within(cap, reserve)
    assert 0 <= stage.remaining_ms() <= min(cap, request.remaining_ms()) + 1e-3


@given(st.integers(1, 2_000), st.floats(0, 0.5), st.integers(0, 10))
def test_retries_stay_within_share_and_burst(calls: int, share: float, burst: int) -> None:
    budget = RetryBudget(share, burst)
    repeated = 0
    for _ in range(calls):
        budget.called()
        repeated += budget.spend()
    assert repeated <= burst + share * calls + 1e-6


def test_saved_retries_are_limited_to_the_burst() -> None:
    budget = RetryBudget(0.1, 3)
    for _ in range(1_000):
        budget.called()
    assert [budget.spend() for _ in range(5)] == [True, True, True, False, False]
