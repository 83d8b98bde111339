"""Which calls a guard admits and retries, and how a call's outcome changes its breaker and limit."""

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
    ("error", "outcome", "alone", "between_failures", "attempts"),
    [
        (DependencyUnavailable(), Outcome.UNAVAILABLE, OPEN, OPEN, 2),
        (NotReady(), Outcome.UNAVAILABLE, OPEN, OPEN, 1),
        (Internal(), Outcome.FAULT, CLOSED, OPEN, 1),  # counts neither as a failure nor as a success
        (ZeroDivisionError(), Outcome.BUG, CLOSED, OPEN, 1),
        (InvalidRequest(), Outcome.REFUSED, CLOSED, CLOSED, 1),
        (Overloaded(), Outcome.BUSY, CLOSED, CLOSED, 1),
        (DeadlineExceeded(), Outcome.CUT_SHORT, CLOSED, OPEN, 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
async def test_outcome_breaker_and_retries_of_each_error(
    error: Exception, outcome: Outcome, alone: BreakerState, between_failures: BreakerState, attempts: int
) -> None:
    post, other = Post(GradientLimit(10, clock=lambda: 0.0), retries=NoPause(1.0, 100)), Post()
    await post.failing(error)
    assert (post.outcome, post.events[-1].attempts) == (outcome, attempts)
    assert state(post) is CLOSED, "a call that was repeated is one failure"
    await post.failing(error, times=FAILURES_TO_OPEN - 1)
    assert (state(post), post.gate.inside) == (alone, 0)
    assert (post.gate.capacity < 10) is (outcome is Outcome.BUSY)
    await other.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN - 1)
    await other.failing(error)
    if state(other) is CLOSED:
        await other.failing(DependencyUnavailable())
    assert state(other) is between_failures


async def test_open_breaker_blocks_calls() -> None:
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
async def test_call_of_three_times_the_usual_time_counts_as_hanging(
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


@pytest.mark.parametrize("seconds", [2, 30])
async def test_cancelled_calls_do_not_count_unless_their_deadline_passed(seconds: float) -> None:
    """The caller's own timer may cancel the call at the same deadline."""
    post, is_late = Post(GradientLimit(10, clock=lambda: 0.0)), seconds == 2
    for _ in range(FAILURES_TO_OPEN):
        async with anyio.create_task_group() as group:
            group.start_soon(quietly, post.call(Switch().work, post.after(2 if is_late else 60)))
            await settled()
            post.now += seconds
            group.cancel_scope.cancel()
        assert post.outcome is (Outcome.HUNG if is_late else Outcome.CANCELLED)
    assert state(post) is (OPEN if is_late else CLOSED)
    assert (post.gate.capacity < 10, post.gate.inside) == (is_late, 0)


async def test_waiting_for_a_place_is_not_dependency_time() -> None:
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


async def test_gate_errors_do_not_count_against_the_dependency() -> None:
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
        assert state(post) is CLOSED
        switch.go.set()


async def test_work_on_a_shared_gpu_waits_for_its_budget() -> None:
    card = Gate("card 0", 100, 10)
    post, other = Post(card=card), Switch()
    async with entered(card, post.after(), 80), anyio.create_task_group() as group:
        group.start_soon(quietly, post.call(other.work, weight_ms=30))
        await settled()
        assert other.started == 0
        assert await post.call(post.work()) == "done", "what needs no card does not wait for it"
        card.capacity = 110
        await settled()
        assert (other.started, card.in_use) == (1, 110)
        other.go.set()
    assert card.in_use == 0


async def test_hanging_dependency_does_not_block_others_on_its_gpu() -> None:
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


async def test_slow_first_call_does_not_set_the_usual_time() -> None:
    post = Post()
    await post.call(post.work(5.0))
    for _ in range(19):
        await post.call(post.work(0.1))
    assert post.guard._usual_s < 0.4


async def test_waiting_calls_fail_when_the_breaker_opens() -> None:
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


async def test_briefly_unavailable_dependency_is_retried() -> None:
    post = Post(retries=NoPause(0.1, 5))
    attempts: list[int] = []

    async def flaky() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise DependencyUnavailable("The connection was stale.")
        return "done"

    assert await post.call(flaky) == "done"
    assert (post.events[-1].attempts, post.outcome) == (2, Outcome.DONE)


async def test_retries_are_skipped_without_enough_time() -> None:
    post = Post(retries=NoPause(1.0, 100))
    await post.call(post.work(1.0))
    with pytest.raises(DependencyUnavailable):
        await post.call(post.work(0, DependencyUnavailable()), post.after(0.9))
    assert post.events[-1].attempts == 1


async def test_failure_counts_if_no_place_is_free_for_the_retry() -> None:
    post = Post(retries=NoPause(1.0, 100))
    post.gate.capacity, post.gate.max_waiting = 1, 0
    switch = Switch()
    async with anyio.create_task_group() as group:

        async def fails_while_another_comes() -> str:
            group.start_soon(quietly, post.call(switch.work))
            post.gate.max_waiting = 1
            await settled()
            post.gate.max_waiting = 0
            raise DependencyUnavailable

        with pytest.raises(LoreglassError):
            await post.call(fails_while_another_comes)
        assert post.outcome is Outcome.UNAVAILABLE
        switch.go.set()


async def test_probes_are_not_retried_and_can_be_cancelled() -> None:
    post = Post(retries=NoPause(1.0, 100))
    await post.opened()
    post.now += 1
    await post.failing(DependencyUnavailable())
    assert post.events[-1].attempts == 1
    post.now += 1
    async with anyio.create_task_group() as group:
        group.start_soon(quietly, post.call(Switch().work))
        await settled()
        group.cancel_scope.cancel()
    assert await post.call(post.work()) == "done"
    assert state(post) is CLOSED


async def test_hanging_calls_do_not_block_the_probe() -> None:
    post = Post(GradientLimit(2))
    switch = Switch()
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(quietly, post.call(switch.work))
        await settled()
        for _ in range(FAILURES_TO_OPEN):
            permit = post.breaker.admit()
            assert permit is not None
            post.breaker.failed(permit)
        post.now += 1
        assert await post.call(post.work()) == "done"
        assert state(post) is CLOSED
        switch.go.set()


@pytest.mark.parametrize("seed", range(2))
async def test_every_place_is_released(seed: int) -> None:
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

    def metric(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"loreglass_{name}", {"dependency": "ocr", **labels})

    assert (metric("breaker_open"), metric("retries_total")) == (1, FAILURES_TO_OPEN)
    assert metric("concurrency_limit") == pytest.approx(post.gate.capacity)
    assert metric("calls_total", outcome="done") == 1
    assert metric("calls_total", outcome="unavailable") == FAILURES_TO_OPEN
