"""The bounded pool between the event loop and a blocking engine."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest

from chassis.errors import CorruptImage, DeadlineExceeded, Overloaded
from chassis.models.cancellation import until_cancelled
from chassis.models.workers import EnginePool, PoolSize
from chassis.resilience.deadlines import Deadline
from chassis.scope import scoped
from tests.unit.chassis.apps import until

PLENTY_MS = 60_000


class Gate:
    """An engine whose calls wait until the test lets them go."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.calls: list[str] = []

    def work(self, name: str) -> str:
        self.calls.append(name)
        self.entered.release()
        self.opened.wait(30)
        return name


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


async def entered(gate: Gate) -> None:
    """Wait until one more call is really running."""
    await anyio.to_thread.run_sync(gate.entered.acquire, abandon_on_cancel=True)


async def settled(pool: EnginePool[Gate], depth: int) -> None:
    """Wait until the pool's own bookkeeping has reached `depth`."""
    await until(lambda: pool.waiting + pool.running == depth)


@asynccontextmanager
async def pooled(gate: Gate, queue: int = 0) -> AsyncIterator[EnginePool[Gate]]:
    """A pool of one thread, in which nothing is left behind."""
    pool = EnginePool(gate, PoolSize(1, queue))
    yield pool
    await settled(pool, 0)
    pool.close()


async def test_an_error_of_the_engine_reaches_its_caller_and_frees_the_slot(gate: Gate) -> None:
    def fail(_: Gate) -> None:
        raise CorruptImage("No.")

    async with pooled(gate) as pool:
        for _ in range(3):
            with pytest.raises(CorruptImage):
                await pool.run(fail, Deadline.after_ms(PLENTY_MS))
            await settled(pool, 0)


async def test_full_queue_refuses_calls_with_retry_after(gate: Gate) -> None:
    async with pooled(gate, queue=1) as pool:
        deadline = Deadline.after_ms(PLENTY_MS)
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, lambda engine: engine.work("running"), deadline)
            await entered(gate)
            group.start_soon(pool.run, lambda engine: engine.work("waiting"), deadline)
            await settled(pool, 2)
            with pytest.raises(Overloaded) as refused:
                await pool.run(lambda engine: engine.work("refused"), deadline)
            gate.opened.set()
        assert refused.value.retry_after_s == 1
        assert gate.calls == ["running", "waiting"]


async def test_a_call_whose_caller_left_while_it_waited_never_runs(gate: Gate) -> None:
    async with pooled(gate, queue=4) as pool:
        deadline = Deadline.after_ms(PLENTY_MS)
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, lambda engine: engine.work("running"), deadline)
            await entered(gate)
            async with anyio.create_task_group() as leaving:
                leaving.start_soon(pool.run, lambda engine: engine.work("abandoned"), deadline)
                await settled(pool, 2)
                leaving.cancel_scope.cancel()
            await settled(pool, 1)
            group.start_soon(pool.run, lambda engine: engine.work("next"), deadline)
            gate.opened.set()
        assert gate.calls == ["running", "next"]


async def test_a_running_call_keeps_its_slot_after_its_caller_left(gate: Gate) -> None:
    async with pooled(gate) as pool:
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(pool.run, lambda engine: engine.work("running"), Deadline.after_ms(PLENTY_MS))
            await entered(gate)
            leaving.cancel_scope.cancel()
        assert pool.waiting + pool.running == 1
        with pytest.raises(Overloaded):
            await pool.run(lambda engine: engine.work("refused"), Deadline.after_ms(PLENTY_MS))
        gate.opened.set()


async def test_a_call_that_expired_in_the_queue_never_runs(gate: Gate) -> None:
    async with pooled(gate, queue=1) as pool, anyio.create_task_group() as group:
        group.start_soon(pool.run, lambda engine: engine.work("running"), Deadline.after_ms(PLENTY_MS))
        await entered(gate)
        with pytest.raises(DeadlineExceeded):
            await pool.run(lambda engine: engine.work("expired"), Deadline.after_ms(20))
        gate.opened.set()
    assert gate.calls == ["running"]


async def test_loop_over_items_stops_when_cancelled(gate: Gate) -> None:
    async with pooled(gate) as pool:
        async with anyio.create_task_group() as group:
            group.start_soon(
                pool.run,
                lambda engine: [engine.work(piece) for piece in until_cancelled(["one", "two", "three"])],
                Deadline.after_ms(PLENTY_MS),
            )
            await entered(gate)
            group.cancel_scope.cancel()
        gate.opened.set()
    assert gate.calls == ["one"]


async def test_scopes_take_turns_whatever_their_queue_length(gate: Gate) -> None:
    done = list[str]()
    async with pooled(gate, queue=8) as pool:

        async def work(scope: str) -> None:
            with scoped(scope):
                await pool.run(lambda engine: engine.work(scope), Deadline.after_ms(PLENTY_MS))
            done.append(scope)

        async with anyio.create_task_group() as group:
            group.start_soon(work, "noisy")
            await entered(gate)
            for scope in [*["noisy"] * 6, "quiet"]:
                group.start_soon(work, scope)
                await anyio.wait_all_tasks_blocked()
            gate.opened.set()
        assert done.index("quiet") == 1
