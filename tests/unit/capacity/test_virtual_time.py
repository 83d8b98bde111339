"""Waiting costs nothing, order is kept, threads stop the clock, and a dead end is said to be one."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

from capacity.simulation.virtual_time import Deadlock, run_virtual
from chassis.resilience.deadlines import Clock, Deadline

DAY_S = 86_400.0


def test_a_day_of_sleep_takes_no_time() -> None:
    async def main(clock: Clock) -> float:
        await asyncio.sleep(2.5 * DAY_S)
        return clock()

    assert run_virtual(main) == 2.5 * DAY_S


def test_sleepers_wake_at_their_own_times_in_order() -> None:
    woken: list[tuple[int, float]] = []

    async def sleeper(clock: Clock, number: int, seconds: float) -> None:
        await anyio.sleep(seconds)
        woken.append((number, clock()))

    async def main(clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            for number, seconds in enumerate([0.3, 0.1, 0.2, 0.1]):
                group.start_soon(sleeper, clock, number, seconds)

    run_virtual(main)
    assert woken == [(1, 0.1), (3, 0.1), (2, 0.2), (0, 0.3)]


def test_the_clock_stands_still_while_tasks_work() -> None:
    async def main(clock: Clock) -> float:
        for _ in range(5_000):
            await anyio.lowlevel.checkpoint()
        return clock()

    assert run_virtual(main) == 0.0


def test_timeouts_strike_at_their_moment() -> None:
    async def main(clock: Clock) -> tuple[float, bool]:
        with pytest.raises(TimeoutError), anyio.fail_after(1.1):
            await anyio.sleep_forever()
        with anyio.move_on_after(0.7) as scope:
            await anyio.sleep(0.6)
        return clock(), scope.cancelled_caught

    moment, cut_short = run_virtual(main)
    assert moment == pytest.approx(1.7)
    assert not cut_short


@pytest.mark.parametrize("seconds", [0.1 + 0.2, 1e-12, 1 / 3, 123456.789012345])
def test_a_timer_never_fires_before_its_time(seconds: float) -> None:
    async def main(clock: Clock) -> float:
        await anyio.sleep(1 / 7)
        begun = clock()
        with anyio.move_on_at(begun + seconds):
            await anyio.sleep_forever()
        return clock() - (begun + seconds)

    assert run_virtual(main) == 0.0


def test_deadlines_on_the_virtual_clock_run_out() -> None:
    async def main(clock: Clock) -> tuple[float, float]:
        deadline = Deadline.after_ms(500, clock)
        await anyio.sleep(0.2)
        left = deadline.remaining_ms()
        await anyio.sleep(0.4)
        return left, deadline.remaining_ms()

    halfway, after = run_virtual(main)
    assert halfway == pytest.approx(300)
    assert after == 0


def test_a_limiter_lets_in_two_at_a_time() -> None:
    async def visitor(limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            await anyio.sleep(1.0)

    async def main(clock: Clock) -> float:
        limiter = anyio.CapacityLimiter(2)
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(visitor, limiter)
        return clock()

    assert run_virtual(main) == 3.0


def test_streams_and_events_pass_between_tasks() -> None:
    async def main(clock: Clock) -> list[float]:
        send, receive = anyio.create_memory_object_stream[float](0)
        times = []

        async def produce() -> None:
            async with send:
                for _ in range(3):
                    await anyio.sleep(1.5)
                    await send.send(clock())

        async with anyio.create_task_group() as group, receive:
            group.start_soon(produce)
            times = [moment async for moment in receive]
        return times

    assert run_virtual(main) == [1.5, 3.0, 4.5]


def test_what_a_task_raises_comes_out() -> None:
    async def main(clock: Clock) -> None:
        await anyio.sleep(3)
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        run_virtual(main)


def _in_executor(work: Callable[[], str]) -> Awaitable[str]:
    return asyncio.get_running_loop().run_in_executor(None, work)


@pytest.mark.parametrize("to_thread", [anyio.to_thread.run_sync, asyncio.to_thread, _in_executor])
def test_work_in_a_thread_takes_no_virtual_time(
    to_thread: Callable[[Callable[[], str]], Awaitable[str]],
) -> None:
    async def main(clock: Clock) -> tuple[str, float, bool]:
        may_end = threading.Event()
        rung = False

        async def alarm() -> None:
            nonlocal rung
            await anyio.sleep(0.001)
            rung = True

        def work() -> str:
            may_end.wait(0.05)  # nobody sets it: real time passes here
            return "done"

        async with anyio.create_task_group() as group:
            group.start_soon(alarm)
            result = await to_thread(work)
            return result, clock(), rung
        raise AssertionError

    assert run_virtual(main) == ("done", 0.0, False)


def test_time_stands_still_even_for_a_thread_that_was_abandoned() -> None:
    async def main(clock: Clock) -> float:
        began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            began.set()
            may_end.wait(10)
            ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(partial(anyio.to_thread.run_sync, work, abandon_on_cancel=True))
            while not began.is_set():
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        assert not ended.is_set()
        may_end.set()
        await anyio.sleep(1)
        assert ended.is_set()
        return clock()

    assert run_virtual(main) == 1.0


def test_a_shielded_thread_is_heard_while_cancellation_is_asked_for_again_and_again() -> None:
    async def main(clock: Clock) -> bool:
        with anyio.CancelScope() as scope:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(threading.Event().wait, 0.01)
            await anyio.sleep(1)
        return scope.cancelled_caught

    assert run_virtual(main)


def test_a_thread_may_call_back_into_the_loop() -> None:
    async def tell(clock: Clock) -> float:
        await anyio.lowlevel.checkpoint()
        return clock()

    async def main(clock: Clock) -> float:
        await anyio.sleep(2)
        return await anyio.to_thread.run_sync(anyio.from_thread.run, tell, clock)

    assert run_virtual(main) == 2.0


def test_threads_are_heard_in_the_order_they_were_started_when_one_works_at_a_time() -> None:
    async def main(clock: Clock) -> list[int]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1
        finished: list[int] = []

        async def one(number: int) -> None:
            await anyio.to_thread.run_sync(threading.Event().wait, 0.002 * (3 - number))
            finished.append(number)

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(one, number)
        return finished

    assert run_virtual(main) == [0, 1, 2]


def test_waiting_for_what_never_comes_is_a_deadlock() -> None:
    async def main(clock: Clock) -> None:
        await anyio.sleep(1)
        await anyio.Event().wait()

    with pytest.raises(Deadlock, match="no timer or thread"):
        run_virtual(main)


def test_ten_thousand_timers_run_in_order() -> None:
    fired: list[float] = []

    async def main(clock: Clock) -> None:
        loop = asyncio.get_running_loop()
        for number in range(10_000):
            loop.call_at((number * 7_919) % 10_000 / 100, lambda: fired.append(clock()))
        await anyio.sleep(100)

    run_virtual(main)
    assert len(fired) == 10_000
    assert fired == sorted(fired)


def test_real_clocks_are_left_alone() -> None:
    async def main(clock: Clock) -> float:
        before = time.monotonic()
        await anyio.sleep(DAY_S)
        return time.monotonic() - before

    assert run_virtual(main) < DAY_S
