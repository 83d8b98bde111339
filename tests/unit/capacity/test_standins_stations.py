"""A service as a station: workers, a bounded queue, deadlines, and callers that leave."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from capacity.standins.counts import Counts
from capacity.standins.stations import Station
from chassis.errors import DeadlineExceeded, Overloaded
from chassis.resilience.deadlines import Clock, Deadline
from tests.virtual_time import run_virtual


def _run(main: Callable[[Station, Counts, Clock], Awaitable[None]], workers: int = 1, queue: int = 2) -> None:
    async def body(clock: Clock) -> None:
        counts = Counts()
        await main(Station(workers, queue, counts, clock), counts, clock)

    run_virtual(body)


def test_calls_beyond_the_workers_wait_in_order_of_arrival() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        ended: list[tuple[str, float]] = []

        async def call(name: str) -> None:
            await station.work(100, None)
            ended.append((name, round(clock(), 6)))

        async with anyio.create_task_group() as group:
            for name in "abc":
                group.start_soon(call, name)
        assert ended == [("a", 0.1), ("b", 0.2), ("c", 0.3)]
        assert station.most_waiting == 2
        assert (station.working, station.waiting) == (0, 0)

    _run(main)


def test_two_workers_work_side_by_side() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(station.work, 100, None)
        assert clock() == pytest.approx(0.2)
        assert counts.worked_ms == pytest.approx(400)

    _run(main, workers=2)


def test_a_full_queue_refuses_the_next_call() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(station.work, 100, None)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(Overloaded) as refused:
                await station.work(100, None)
        assert refused.value.retry_after_s == 1

    _run(main)


def test_a_caller_that_leaves_the_queue_takes_its_call_along() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(station.work, 100, None)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.05):
                await station.work(100, None)
            assert station.waiting == 0
        assert clock() == pytest.approx(0.1)
        assert counts.wasted_ms == 0

    _run(main)


def test_a_caller_that_leaves_its_worker_frees_it_at_once() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        with anyio.move_on_after(0.04):
            await station.work(100, None)
        await station.work(100, None)
        assert clock() == pytest.approx(0.14)
        assert counts.wasted_ms == pytest.approx(40)

    _run(main)


def test_a_worker_given_to_a_caller_that_leaves_in_the_same_moment_goes_to_the_next() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        async def leaves() -> None:
            with anyio.move_on_after(0.1):
                await station.work(100, None)

        async with anyio.create_task_group() as group:
            group.start_soon(station.work, 100, None)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(leaves)
            group.start_soon(station.work, 100, None)
        assert (station.working, station.waiting) == (0, 0)
        assert clock() == pytest.approx(0.2)

    _run(main)


def test_a_call_whose_deadline_passes_in_the_queue_is_never_begun() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(station.work, 100, None)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(DeadlineExceeded):
                await station.work(100, Deadline.after_ms(60, clock))
            assert clock() == pytest.approx(0.06)
        assert counts.worked_ms == pytest.approx(100)

    _run(main)


def test_a_call_that_cannot_begin_in_time_is_refused_on_arrival() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        with pytest.raises(DeadlineExceeded):
            await station.work(100, Deadline.after_ms(0, clock))
        assert clock() == 0

    _run(main)


def test_work_that_outlasts_its_deadline_is_told_so_in_time_and_keeps_its_worker() -> None:
    async def main(station: Station, counts: Counts, clock: Clock) -> None:
        with pytest.raises(DeadlineExceeded):
            await station.work(100, Deadline.after_ms(60, clock))
        assert clock() == pytest.approx(0.06)
        assert (station.working, counts.late) == (1, 0)
        await station.work(50, None)
        assert clock() == pytest.approx(0.15)
        assert counts.late == 1
        assert counts.wasted_ms == pytest.approx(100)

    _run(main)
