"""What a guard lets through, and what it learns from each end of a call."""

import random

import anyio
import pytest
from prometheus_client import CollectorRegistry

from chassis.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    Internal,
    InvalidRequest,
    LoreglassError,
    NotReady,
    Overloaded,
)
from chassis.resilience.breaker import BreakerState
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Outcome
from chassis.resilience.limits import GradientLimit
from chassis.telemetry.metrics import GuardMetrics
from tests.gates import entered
from tests.unit.chassis.guards import FAILURES_TO_OPEN, NoPause, Post, Switch, quietly, settled, state

OPEN, CLOSED = BreakerState.OPEN, BreakerState.CLOSED


@pytest.mark.parametrize(
    ("error", "outcome", "alone", "between_failures"),
    [
        (DependencyUnavailable(), Outcome.UNAVAILABLE, OPEN, OPEN),
        (NotReady(), Outcome.UNAVAILABLE, OPEN, OPEN),
        (Internal(), Outcome.FAULT, CLOSED, OPEN),  # neither a failure nor a sign of health
        (ZeroDivisionError(), Outcome.BUG, CLOSED, OPEN),
        (InvalidRequest(), Outcome.REFUSED, CLOSED, CLOSED),
        (Overloaded(), Outcome.BUSY, CLOSED, CLOSED),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
async def test_what_an_error_says_of_the_dependency(
    error: Exception, outcome: Outcome, alone: BreakerState, between_failures: BreakerState
) -> None:
    post, other = Post(GradientLimit(10, clock=lambda: 0.0)), Post()
    await post.failing(error, times=FAILURES_TO_OPEN)
    assert (post.outcome, state(post), post.gate.inside) == (outcome, alone, 0)
    assert (post.gate.capacity < 10) is (outcome is Outcome.BUSY)
    await other.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN - 1)
    await other.failing(error)
    if state(other) is CLOSED:
        await other.failing(DependencyUnavailable())
    assert state(other) is between_failures


async def test_while_the_breaker_is_open_nobody_asks_the_dependency() -> None:
    post, switch = Post(), Switch()
    await post.opened()
    with pytest.raises(DependencyUnavailable) as refused:
        await post.call(switch.work)
    assert refused.value.retry_after_s == pytest.approx(1.0)
    assert (switch.started, post.outcome) == (0, Outcome.OPEN)


@pytest.mark.parametrize(
    ("usual_s", "weight_ms", "seconds", "hung"),
    [
        (0.0, 0, 0.9, False),
        (0.0, 0, 1.0, True),
        (0.1, 0, 0.15, False),
        (0.1, 0, 0.31, True),
        (0.1, 400, 0.9, False),
        (0.002, 0, 0.05, False),
    ],
)
async def test_a_call_that_had_three_times_the_usual_time_hangs(
    usual_s: float, weight_ms: float, seconds: float, hung: bool
) -> None:
    post = Post(GradientLimit(10, clock=lambda: 0.0))
    if usual_s:
        await post.call(post.work(usual_s))
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(DeadlineExceeded):
            await post.call(post.work(seconds, DeadlineExceeded()), weight_ms=weight_ms)
    assert (state(post) is BreakerState.OPEN, post.gate.capacity < 10) == (hung, hung)
    assert post.outcome is (Outcome.HUNG if hung else Outcome.CUT_SHORT)


async def test_callers_who_leave_teach_nothing() -> None:
    post = Post(GradientLimit(10, clock=lambda: 0.0))
    await post.call(post.work(0.1))
    limit = post.gate.capacity
    for _ in range(20):
        async with anyio.create_task_group() as group:
            group.start_soon(quietly, post.call(Switch().work))
            await settled()
            post.now += 30
            group.cancel_scope.cancel()
        assert post.outcome is Outcome.CANCELLED
    assert state(post) is BreakerState.CLOSED
    assert post.gate.capacity == limit
    assert post.gate.inside == 0


async def test_a_cancellation_by_the_same_deadline_is_a_deadline_that_passed() -> None:
    post = Post()
    for _ in range(FAILURES_TO_OPEN):
        async with anyio.create_task_group() as group:
            group.start_soon(quietly, post.call(Switch().work, post.after(2)))
            await settled()
            post.now += 2
            group.cancel_scope.cancel()  # a timer around the call, set to the same deadline
        assert post.outcome is Outcome.HUNG
    assert state(post) is BreakerState.OPEN


async def test_waiting_for_a_place_is_not_the_dependencys_time() -> None:
    post = Post()
    switch = Switch()
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(post.call, switch.work)
        await settled()
        assert switch.started == 2
        post.now += 5
        switch.go.set()
    assert [event.worked_s for event in post.events] == [5, 5, 0]


async def test_errors_of_the_gates_say_nothing_of_the_dependency() -> None:
    post = Post()
    switch = Switch()
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(post.call, switch.work)
        await settled()
        for _ in range(FAILURES_TO_OPEN):
            with pytest.raises(DeadlineExceeded):
                await post.call(switch.work, post.after(0.002))
            assert post.outcome is Outcome.EXPIRED
        group.start_soon(post.call, switch.work)
        await settled()
        for _ in range(FAILURES_TO_OPEN):
            with pytest.raises(Overloaded):
                await post.call(switch.work)
            assert post.outcome is Outcome.FULL
        assert state(post) is BreakerState.CLOSED
        switch.go.set()


async def test_work_on_a_shared_card_waits_for_its_milliseconds() -> None:
    card = Gate("card 0", 100, 10)
    post, other = Post(card=card), Switch()
    async with entered(card, post.after(), 80), anyio.create_task_group() as group:
        group.start_soon(quietly, post.call(other.work, weight_ms=30))
        await settled()
        assert other.started == 0
        assert await post.call(post.work()) == "done", "what needs no card does not wait for it"
        card.capacity = 110
        await settled()
        assert other.started == 1
        assert card.in_use == 110
        other.go.set()
    assert card.in_use == 0


async def test_a_dependency_that_hangs_does_not_keep_the_others_off_their_card() -> None:
    card, hangs = Gate("card 0", 100, 10), Switch()
    post, other = Post(card=card), Post(card=card)
    await post.call(post.work(0.001))
    async with anyio.create_task_group() as group:
        group.start_soon(post.call, hangs.work, None, 80.0)
        await settled()
        assert card.in_use == 80
        with anyio.fail_after(20):
            assert await other.call(other.work(), weight_ms=80) == "done"
        assert card.in_use == 0
        hangs.go.set()
    assert card.in_use == 0


async def test_a_first_call_that_was_long_for_a_cold_start_is_soon_not_the_usual() -> None:
    post = Post()
    await post.call(post.work(5.0))
    for _ in range(19):
        await post.call(post.work(0.1))
    assert post.guard._usual_s < 0.4


async def test_those_who_wait_are_told_when_the_dependency_is_found_to_be_away() -> None:
    post = Post()
    await post.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN - 1)
    away, refused = anyio.Event(), []

    async def fail() -> str:
        await away.wait()
        raise DependencyUnavailable

    async def wait_in_vain() -> None:
        with pytest.raises(DependencyUnavailable) as error:
            await post.call(Switch().work)
        refused.append(error.value.retry_after_s)

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(quietly, post.call(fail))
        await settled()
        for _ in range(3):
            group.start_soon(wait_in_vain)
        await settled()
        assert post.gate.waiting == 3
        away.set()
    assert refused == [1.0, 1.0, 1.0]
    assert [event.outcome for event in post.events].count(Outcome.OPEN) == 3


@pytest.mark.parametrize("seed", range(2))
async def test_whatever_happens_every_place_is_given_back(seed: int) -> None:
    rng = random.Random(seed)
    card = Gate("card 0", 50, 3)
    post = Post(GradientLimit(3), card, NoPause(0.5, 5))
    errors = (None, Overloaded(), DependencyUnavailable(), DeadlineExceeded(), Internal(), ValueError())

    async def one() -> None:
        error, turns = rng.choice(errors), rng.randrange(8)

        async def work() -> str:
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            post.now += 0.2
            if error is not None:
                raise error
            return "done"

        with anyio.CancelScope() as scope:
            if rng.random() < 0.3:
                scope.cancel()
            try:
                await post.call(work, weight_ms=rng.uniform(0, 60))
            except (LoreglassError, ValueError):
                return

    async with anyio.create_task_group() as group:
        for _ in range(200):
            group.start_soon(one)
            for _ in range(rng.randrange(4)):
                await anyio.lowlevel.checkpoint()
    assert (post.gate.in_use, post.gate.waiting, card.in_use, card.waiting) == (0, 0, 0, 0)
    assert len(post.events) == 200


async def test_metrics_count_calls_retries_limit_and_breaker() -> None:
    registry = CollectorRegistry()
    metrics = GuardMetrics(registry)
    post = Post(GradientLimit(6), retries=NoPause(1.0, 100))
    await post.call(post.work())
    await post.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN)
    for event in post.events:
        metrics.observe(event)
    ocr = {"dependency": "ocr"}
    assert registry.get_sample_value("loreglass_breaker_open", ocr) == 1
    assert registry.get_sample_value("loreglass_retries_total", ocr) == FAILURES_TO_OPEN
    assert registry.get_sample_value("loreglass_concurrency_limit", ocr) == pytest.approx(post.gate.capacity)
    done = registry.get_sample_value("loreglass_calls_total", ocr | {"outcome": "done"})
    failed = registry.get_sample_value("loreglass_calls_total", ocr | {"outcome": "unavailable"})
    assert (done, failed) == (1, FAILURES_TO_OPEN)
