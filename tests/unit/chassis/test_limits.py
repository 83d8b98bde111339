"""A concurrency limit that is learnt from times stays in its bounds and near what the server can do."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.resilience.limits import GradientLimit
from tests.unit.chassis.queueing import Simulation

SECONDS = st.floats(min_value=0, max_value=1e6) | st.just(math.inf) | st.just(math.nan)
IN_FLIGHT = st.integers(min_value=1, max_value=500)
LEARNT = st.lists(st.tuples(SECONDS, IN_FLIGHT) | st.none(), max_size=60)


@given(LEARNT, st.floats(1, 64))
def test_the_limit_stays_between_floor_and_ceiling_whatever_it_learns(
    learnt: list[tuple[float, int] | None], initial: float
) -> None:
    now = 0.0
    limit = GradientLimit(initial, clock=lambda: now)
    for each in learnt:
        if each is None:
            limit.drop()
        else:
            limit.observe(*each)
            now += each[0] if math.isfinite(each[0]) else 1.0
        assert 1 <= limit.value <= 64


@given(st.lists(st.tuples(st.floats(0.001, 10), st.integers(1, 100)), min_size=1, max_size=40))
def test_a_limit_that_is_hardly_used_does_not_grow(learnt: list[tuple[float, int]]) -> None:
    limit = GradientLimit(40, clock=lambda: 0.0)
    for seconds, in_flight in learnt:
        before = limit.value
        limit.observe(seconds, in_flight)
        if in_flight < before / 2:
            assert limit.value <= before


def test_steady_times_under_pressure_let_it_grow_to_its_ceiling() -> None:
    limit = GradientLimit(2, clock=lambda: 0.0)
    for _ in range(400):
        limit.observe(0.05, int(limit.value))
    assert limit.value == 64


def test_calls_that_are_refused_together_lower_it_once() -> None:
    now = 0.0
    limit = GradientLimit(10, clock=lambda: now)
    limit.observe(0.2, 1)
    for _ in range(8):
        limit.drop()
    assert limit.value == pytest.approx(7)
    now = 0.2
    limit.drop()
    assert limit.value == pytest.approx(4.9)


def test_refusals_that_go_on_lower_it_to_its_floor() -> None:
    now = 0.0
    limit = GradientLimit(50, clock=lambda: now)
    for _ in range(30):
        limit.drop()
        now += 1
    assert limit.value == 1


def test_without_a_call_that_was_nearly_alone_it_makes_room_to_measure_one_again() -> None:
    now = 0.0
    limit = GradientLimit(16, clock=lambda: now)
    limit.observe(0.1, 1)
    before = limit.value
    while limit.value > before / 2:
        now += 0.1
        limit.observe(0.1, int(limit.value))
    assert 2.4 <= now <= 2.7
    for _ in range(4):
        limit.observe(0.1, int(limit.value))
    assert limit.value >= before


def test_a_server_that_stays_slower_becomes_the_usual() -> None:
    sim = Simulation(4, 2.0, slowness=lambda at: 5.0 if at >= 30 else 1.0).run(90)
    assert 4 <= sim.median_limit(60, 90) <= 14
    assert sim.throughput(60, 90) > 0.9 / 5


@pytest.mark.parametrize("load", [0.5, 1.5, 5.0])
@pytest.mark.parametrize("workers", [1, 4])
def test_under_any_load_nearly_all_is_done_and_the_limit_rests_near_the_workers(
    workers: int, load: float
) -> None:
    sim = Simulation(workers, load).run(60)
    assert sim.throughput(20, 60) >= min(1.0, load) * 0.85
    if load > 1:
        assert workers <= sim.median_limit(20, 60) <= 3 * workers + 2


@pytest.mark.parametrize("workers", [1, 4])
def test_a_first_guess_that_is_far_too_high_is_corrected(workers: int) -> None:
    sim = Simulation(workers, 3.0, initial=64).run(60)
    assert sim.median_limit(30, 60) <= 3 * workers + 2


@pytest.mark.parametrize("workers", [1, 4])
def test_after_half_a_minute_five_times_slower_it_is_as_before(workers: int) -> None:
    sim = Simulation(workers, 2.0, slowness=lambda at: 5.0 if 30 <= at < 60 else 1.0).run(110)
    assert sim.throughput(62, 72) >= 0.85
    assert sim.median_limit(90, 110) <= 3 * workers + 2
