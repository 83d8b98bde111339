"""What a guard asks again: a call that found its dependency away, and, after an outage, one probe."""

import anyio
import pytest

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
from chassis.resilience.guard import Outcome
from chassis.resilience.limits import GradientLimit
from tests.unit.chassis.guards import FAILURES_TO_OPEN, NoPause, Post, Switch, quietly, settled, state


async def test_a_dependency_that_was_away_for_a_moment_is_asked_again() -> None:
    post = Post(retries=NoPause(0.1, 5))
    attempts: list[int] = []

    async def flaky() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise DependencyUnavailable("The connection was stale.")
        return "done"

    assert await post.call(flaky) == "done"
    assert post.events[-1].attempts == 2
    assert post.outcome is Outcome.DONE


@pytest.mark.parametrize(
    "error",
    [Internal(), Overloaded(), NotReady(), DeadlineExceeded(), InvalidRequest()],
    ids=lambda error: error.kind.value,
)
async def test_nothing_else_is_asked_again(error: LoreglassError) -> None:
    post = Post(retries=NoPause(1.0, 100))
    await post.failing(error, times=2)
    assert [event.attempts for event in post.events] == [1, 1]


async def test_a_call_is_repeated_once_and_counts_as_one_failure() -> None:
    post = Post(retries=NoPause(1.0, 100))
    await post.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN - 1)
    assert [event.attempts for event in post.events] == [2] * (FAILURES_TO_OPEN - 1)
    assert state(post) is BreakerState.CLOSED
    await post.failing(DependencyUnavailable())
    assert state(post) is BreakerState.OPEN


async def test_nothing_is_repeated_that_would_not_end_in_time() -> None:
    post = Post(retries=NoPause(1.0, 100))
    await post.call(post.work(1.0))
    with pytest.raises(DependencyUnavailable):
        await post.call(post.work(0, DependencyUnavailable()), post.after(0.9))
    assert post.events[-1].attempts == 1


async def test_who_cannot_be_repeated_for_want_of_a_place_has_still_seen_a_failure() -> None:
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


async def test_a_probe_is_never_repeated() -> None:
    post = Post(retries=NoPause(1.0, 100))
    await post.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN)
    post.now += 1
    await post.failing(DependencyUnavailable())
    assert post.events[-1].attempts == 1


async def test_a_cancelled_probe_lets_the_next_caller_probe() -> None:
    post = Post()
    await post.opened()
    post.now += 1
    async with anyio.create_task_group() as group:
        group.start_soon(quietly, post.call(Switch().work))
        await settled()
        group.cancel_scope.cancel()
    assert await post.call(post.work()) == "done"
    assert state(post) is BreakerState.CLOSED


async def test_calls_that_hang_do_not_keep_the_probe_out() -> None:
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
        assert state(post) is BreakerState.CLOSED
        switch.go.set()
