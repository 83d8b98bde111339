"""A dependency that keeps failing is left alone, and used again as soon as one probe succeeds."""

import pytest

from chassis.resilience.breaker import Breaker, BreakerState, Permit
from tests.virtual_time import ManualClock


@pytest.fixture
def watch() -> ManualClock:
    return ManualClock(0.0)


@pytest.fixture
def breaker(watch: ManualClock) -> Breaker:
    return Breaker(failures=3, open_s=1.0, clock=watch, probe_s=2.0)


def permit(breaker: Breaker) -> Permit:
    given = breaker.admit()
    assert given is not None
    return given


def state(breaker: Breaker) -> BreakerState:
    return breaker.state


def opened(breaker: Breaker) -> None:
    for _ in range(3):
        breaker.failed(permit(breaker))


def test_after_the_pause_exactly_one_probe_is_let_through(breaker: Breaker, watch: ManualClock) -> None:
    opened(breaker)
    watch.now = 0.999
    assert breaker.admit() is None
    watch.now = 1.0
    assert state(breaker) is BreakerState.HALF_OPEN
    assert permit(breaker).probe
    assert [breaker.admit() for _ in range(5)] == [None] * 5


def test_each_failed_probe_restarts_the_same_pause(breaker: Breaker, watch: ManualClock) -> None:
    opened(breaker)
    for _ in range(20):
        watch.now += breaker.retry_after_s()
        breaker.failed(permit(breaker))
        assert breaker.retry_after_s() == pytest.approx(1.0)


def test_hanging_probe_does_not_block_the_next_one(breaker: Breaker, watch: ManualClock) -> None:
    opened(breaker)
    watch.now = 1.0
    hanging = permit(breaker)
    watch.now = 2.9
    assert breaker.admit() is None
    assert state(breaker) is BreakerState.HALF_OPEN
    watch.now = 3.0
    second = permit(breaker)
    breaker.failed(hanging)
    breaker.abandoned(hanging)
    assert breaker.admit() is None, "the second probe is still under way"
    breaker.succeeded(second)
    assert state(breaker) is BreakerState.CLOSED


def test_abandoned_probe_can_still_close_the_breaker(breaker: Breaker, watch: ManualClock) -> None:
    opened(breaker)
    watch.now = 1.0
    slow = permit(breaker)
    watch.now = 3.0
    second = permit(breaker)
    breaker.succeeded(slow)
    assert state(breaker) is BreakerState.CLOSED
    breaker.failed(second)
    assert state(breaker) is BreakerState.CLOSED


def test_calls_started_before_opening_are_ignored(breaker: Breaker, watch: ManualClock) -> None:
    early = [permit(breaker) for _ in range(4)]
    opened(breaker)
    breaker.succeeded(early[0])
    assert state(breaker) is BreakerState.OPEN
    watch.now = 0.9
    breaker.failed(early[1])
    assert breaker.retry_after_s() == pytest.approx(0.1)
    watch.now = 1.0
    breaker.succeeded(permit(breaker))
    for late in early[2:]:
        breaker.failed(late)
    breaker.failed(permit(breaker))
    assert state(breaker) is BreakerState.CLOSED
