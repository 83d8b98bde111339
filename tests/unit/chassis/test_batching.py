"""Micro-batching: who shares a forward pass, who is dropped, and what a failure costs."""

import random
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from chassis.errors import NotReady
from chassis.models.batching import BatchLimits, MicroBatcher
from chassis.models.cancellation import CURRENT_CALL, Abandoned, Call
from chassis.resilience.deadlines import Deadline

NEVER_MS = 3_600_000.0


class Doubling:
    """A model that doubles numbers, fails on negative ones, and can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.entered = threading.Semaphore(0)
        self.go = threading.Event()
        self.go.set()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.entered.release()
        self.go.wait()
        if any(item < 0 for item in items):
            raise ValueError("negative")
        return [2 * item for item in items]


@contextmanager
def batching(model: Doubling, limits: BatchLimits) -> Iterator[MicroBatcher[int, int]]:
    batcher = MicroBatcher(model, limits)
    try:
        yield batcher
    finally:
        model.go.set()
        batcher.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as executor:
        yield executor


def wait_until_pending(batcher: MicroBatcher[int, int], items: int) -> None:
    turn = threading.Event()
    while batcher.waiting < items:
        turn.wait(0.001)


def for_caller(batcher: MicroBatcher[int, int], caller: Call, items: list[int]) -> list[int]:
    token = CURRENT_CALL.set(caller)
    try:
        return batcher(items)
    finally:
        CURRENT_CALL.reset(token)


def held_up(
    batcher: MicroBatcher[int, int], model: Doubling, threads: ThreadPoolExecutor
) -> Future[list[int]]:
    """A first call that keeps the model busy until `model.go` is set."""
    model.go.clear()
    first = threads.submit(batcher, [0])
    model.entered.acquire()
    return first


def test_sixteen_single_calls_share_one_forward_pass(threads: ThreadPoolExecutor) -> None:
    model = Doubling()
    with batching(model, BatchLimits(16, NEVER_MS)) as batcher:
        replies = list(threads.map(lambda item: batcher([item]), range(16)))
    assert replies == [[2 * item] for item in range(16)]
    assert [len(batch) for batch in model.batches] == [16]


def test_queue_age_is_that_of_the_oldest_call(threads: ThreadPoolExecutor) -> None:
    model = Doubling()
    with batching(model, BatchLimits(1, 0.0)) as batcher:
        held_up(batcher, model, threads)
        assert batcher.oldest_wait_s == 0
        threads.submit(batcher, [1])
        wait_until_pending(batcher, 1)
        first_came_before = time.monotonic()
        threads.submit(batcher, [2])
        wait_until_pending(batcher, 2)
        since_s = time.monotonic() - first_came_before
        assert batcher.oldest_wait_s >= since_s


def test_large_call_is_split_and_does_not_block_a_small_one(
    threads: ThreadPoolExecutor,
) -> None:
    model = Doubling()
    with batching(model, BatchLimits(8, 0.0)) as batcher:
        held_up(batcher, model, threads)
        large = threads.submit(batcher, list(range(100, 140)))
        wait_until_pending(batcher, 40)
        small = threads.submit(batcher, [7])
        wait_until_pending(batcher, 41)
        model.go.set()
        assert small.result() == [14]
        assert large.result() == [2 * item for item in range(100, 140)]
    assert 7 in model.batches[1]
    assert max(len(batch) for batch in model.batches) == 8


def test_abandoned_call_never_reaches_the_model(threads: ThreadPoolExecutor) -> None:
    model, now = Doubling(), [0.0]
    with batching(model, BatchLimits(16, 0.0)) as batcher:
        held_up(batcher, model, threads)
        gone, stays = Call(Deadline.after_ms(NEVER_MS)), Call(Deadline.after_ms(NEVER_MS))
        left = threads.submit(for_caller, batcher, gone, [50])
        late = threads.submit(for_caller, batcher, Call(Deadline.after_ms(10, lambda: now[0])), [55])
        unaffected = threads.submit(for_caller, batcher, stays, [60])
        wait_until_pending(batcher, 3)
        gone.leave()
        now[0] = 1.0
        model.go.set()
        assert unaffected.result() == [120]
        for abandoned in (left, late):
            with pytest.raises(Abandoned):
                abandoned.result()
    assert model.batches == [[0], [60]]


def test_too_few_model_results_are_an_error() -> None:
    batcher: MicroBatcher[int, int] = MicroBatcher(lambda items: items[:-1], BatchLimits(4, 0.0))
    with pytest.raises(RuntimeError, match="1 results for 2 items"):
        batcher([1, 2])
    batcher.close()


def test_pending_calls_are_refused_on_close(threads: ThreadPoolExecutor) -> None:
    model = Doubling()
    batcher = MicroBatcher(model, BatchLimits(16, NEVER_MS))
    waiting = threads.submit(batcher, [1])
    wait_until_pending(batcher, 1)
    batcher.close()
    with pytest.raises(NotReady):
        waiting.result()
    with pytest.raises(NotReady):
        batcher([2])


def test_failed_batch_frees_tensors_before_single_retries(
    threads: ThreadPoolExecutor,
) -> None:
    class Tensor:
        """Stands for what a pass holds on the card."""

    held: list[weakref.ref[Tensor]] = []
    alive: list[int] = []
    busy, go = threading.Event(), threading.Event()

    def forward(items: Sequence[int]) -> list[int]:
        alive.append(sum(each() is not None for each in held))
        tensor = Tensor()
        held.append(weakref.ref(tensor))
        if items[0] == 0:
            busy.set()
            go.wait()
        if len(items) > 1:
            raise MemoryError
        return list(items)

    batcher: MicroBatcher[int, int] = MicroBatcher(forward, BatchLimits(16, 0.0))
    first = threads.submit(batcher, [0])
    busy.wait()
    others = [threads.submit(batcher, [item]) for item in (1, 2)]
    wait_until_pending(batcher, 2)
    go.set()
    assert [each.result() for each in (first, *others)] == [[0], [1], [2]]
    batcher.close()
    assert alive == [0, 0, 0, 0]


def test_results_never_mix_between_calls(threads: ThreadPoolExecutor) -> None:
    def forward(items: Sequence[int]) -> list[int]:
        if any(item % 97 == 0 for item in items):
            raise ValueError("no")
        if any(item % 89 == 0 for item in items):
            raise SystemExit
        return [2 * item for item in items]

    def call(seed: int) -> bool:
        """Whether the outcome is right for these items."""
        chance = random.Random(seed)
        items = [chance.randrange(1, 10_000) for _ in range(chance.randrange(1, 12))]
        caller = Call(Deadline.after_ms(NEVER_MS))
        if chance.random() < 0.1:
            caller.leave()
        fails = any(item % 97 == 0 or item % 89 == 0 for item in items)
        try:
            return for_caller(batcher, caller, items) == [2 * item for item in items]
        except Abandoned:
            return caller.abandoned
        except (ValueError, RuntimeError):
            return fails

    batcher: MicroBatcher[int, int] = MicroBatcher(forward, BatchLimits(8, 0.1))
    assert all(threads.map(call, range(500)))
    assert batcher.waiting == 0
    batcher.close()
