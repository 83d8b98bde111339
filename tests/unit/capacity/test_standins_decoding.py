"""Continuous batching: what a token costs alone, in company, and beside other models."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from capacity.standins.decoding import ContinuousBatch, ReadPrompt, Running
from chassis.resilience.deadlines import Clock
from gateway.planning.latencies import VlmSpeed
from tests.virtual_time import run_virtual

SPEED = VlmSpeed(vision_ms=100, prefill_ms_per_1k=50, decode_ms_per_token=10, prefix_caching=True)
TEXT = ReadPrompt("no prefix", 0, 0)
PHOTO = ReadPrompt("photo and question", prefix_tokens=600, further_tokens=400, photo_tokens=1_280)


def _step_ms(batch: int) -> float:
    return 10 * (1 + 0.1 * (batch - 1))


Main = Callable[[ContinuousBatch, Clock], Awaitable[None]]


def _run(main: Main, sequences: int = 2, speed: VlmSpeed = SPEED, interval: int = 1) -> None:
    async def body(clock: Clock) -> None:
        batch = ContinuousBatch(sequences, speed, _step_ms, clock, stream_interval=interval)
        await main(batch, clock)
        assert (batch.running, batch.waiting) == (0, 0)

    run_virtual(body)


async def _whole(batch: ContinuousBatch, sequence: Running) -> None:
    batch.submit(sequence)
    try:
        await sequence.beyond(sequence.tokens - 1)
    finally:
        batch.leave(sequence)


def test_a_lone_call_takes_what_the_latency_table_says() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        await _whole(batch, Running(PHOTO, tokens=20))
        assert clock() * 1000 == pytest.approx(SPEED.median_ms(1_000, 20, photo_is_cached=False))

    _run(main)


def test_sequences_in_one_batch_share_its_steps_which_are_a_little_longer() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_whole, batch, Running(TEXT, tokens=11))
            group.start_soon(_whole, batch, Running(TEXT, tokens=10))
        assert clock() == pytest.approx(0.010 + 10 * 0.011)
        assert batch.record.steps == 11
        assert batch.record.mean_batch == pytest.approx((10 + 220) / 120)

    _run(main)


def test_a_newcomer_joins_between_steps_and_its_prompt_delays_those_that_run() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_whole, batch, Running(TEXT, tokens=2))
            await anyio.wait_all_tasks_blocked()
            group.start_soon(_whole, batch, Running(PHOTO, tokens=1))
        assert clock() == pytest.approx(0.010 + 0.011 + 0.150)

    _run(main)


def test_those_beyond_the_limit_wait_in_order_of_arrival() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        ended: list[str] = []

        async def call(name: str) -> None:
            await _whole(batch, Running(TEXT, tokens=3))
            ended.append(name)

        async with anyio.create_task_group() as group:
            for name in "abcd":
                group.start_soon(call, name)
            await anyio.wait_all_tasks_blocked()
            assert (batch.running, batch.waiting) == (1, 3)
        assert ended == ["a", "b", "c", "d"]
        assert batch.record.most_waiting == 3
        assert clock() == pytest.approx(0.120)

    _run(main, sequences=1)


def test_a_sequence_whose_caller_leaves_makes_room_for_the_next() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            with anyio.move_on_after(0.025):
                await _whole(batch, Running(TEXT, tokens=1_000))
            group.start_soon(_whole, batch, Running(TEXT, tokens=5))
        assert clock() == pytest.approx(0.030 + 0.050)

    _run(main, sequences=1)


def test_one_that_leaves_the_queue_is_never_read() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_whole, batch, Running(TEXT, tokens=3))
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0.015):
                await _whole(batch, Running(PHOTO, tokens=3))
        assert clock() == pytest.approx(0.030)

    _run(main, sequences=1)


def test_a_beginning_that_was_read_lately_is_not_read_again() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        await _whole(batch, Running(PHOTO, tokens=1))
        began, again = clock(), Running(PHOTO, tokens=1)
        await _whole(batch, again)
        assert clock() - began == pytest.approx(0.010 + 0.4 * 0.050)
        assert again.cached_tokens == 600 + 1_280

    _run(main)


def test_without_prefix_caching_every_call_reads_its_photo() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        await _whole(batch, Running(PHOTO, tokens=1))
        again = Running(PHOTO, tokens=1)
        await _whole(batch, again)
        assert clock() == pytest.approx(2 * 0.160)
        assert again.cached_tokens == 0

    _run(main, speed=VlmSpeed(vision_ms=100, prefill_ms_per_1k=50, decode_ms_per_token=10))


def test_a_slow_sequence_takes_its_factor_longer_and_holds_nobody_up() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_whole, batch, Running(TEXT, tokens=10, pace=1 / 5))
            await anyio.wait_all_tasks_blocked()
            await _whole(batch, Running(TEXT, tokens=10))
            assert clock() < 0.120
        assert batch.record.steps == 50

    _run(main)


def test_tokens_are_told_in_the_interval_of_the_stream_and_at_both_ends() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        sequence, seen = Running(TEXT, tokens=11), [0]
        batch.submit(sequence)
        while seen[-1] < sequence.tokens:
            seen.append(await sequence.beyond(seen[-1]))
        assert seen == [0, 1, 4, 8, 11]

    _run(main, interval=4)


def test_an_idle_engine_has_no_timer() -> None:
    async def main(batch: ContinuousBatch, clock: Clock) -> None:
        await _whole(batch, Running(TEXT, tokens=2))
        await anyio.sleep(60)
        assert batch.record.steps == 2

    _run(main)
