"""Bounded work in progress, in deadline order, whose weight never leaks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded
from chassis.resilience.deadlines import Deadline
from chassis.resilience.gates import Gate
from chassis.scope import scoped
from tests.gates import entered
from tests.unit.chassis.guards import settled


@dataclass
class Visitor:
    """Enters a gate and stays until it is told to go."""

    weight: float
    deadline_ms: float
    go: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    inside: bool = False
    error: LoreglassError | None = None


class Room:
    """A gate, its visitors, and a clock that stands still unless it is moved."""

    def __init__(self, group: TaskGroup, gate: Gate) -> None:
        self.gate = gate
        self.now = 0.0
        self.entered: list[Visitor] = []
        self._group = group

    async def visit(self, deadline_ms: float = 60_000, weight: float = 1.0) -> Visitor:
        visitor = Visitor(weight, deadline_ms)
        self._group.start_soon(self._stay, visitor)
        await settled()
        return visitor

    async def leave(self, visitor: Visitor) -> None:
        visitor.go.set()
        await settled()

    async def cancel(self, visitor: Visitor) -> None:
        visitor.scope.cancel()
        await settled()

    async def _stay(self, visitor: Visitor) -> None:
        deadline = Deadline(visitor.deadline_ms / 1000, lambda: self.now)
        with visitor.scope:
            try:
                async with entered(self.gate, deadline, visitor.weight):
                    visitor.inside = True
                    assert self.gate.in_use <= self.gate.capacity + 1e-6 or self.gate.inside == 1
                    self.entered.append(visitor)
                    await visitor.go.wait()
            except LoreglassError as error:
                visitor.error = error
            finally:
                visitor.inside = False


@asynccontextmanager
async def room(capacity: float, max_waiting: int = 100) -> AsyncIterator[Room]:
    async with anyio.create_task_group() as group:
        yield Room(group, Gate("the card", capacity, max_waiting))
        group.cancel_scope.cancel()


async def test_waiting_calls_enter_by_deadline_then_arrival() -> None:
    async with room(1) as it:
        await it.visit()
        late, soon, also_soon, soonest = [await it.visit(at) for at in (9_000, 5_000, 5_000, 1_000)]
        for _ in range(4):
            await it.leave(it.entered[-1])
        assert it.entered[1:] == [soonest, soon, also_soon, late]


async def test_small_scope_waits_only_for_running_calls() -> None:
    async with room(2) as it:
        with scoped("noisy"):
            noisy = [await it.visit(1_000 + nth) for nth in range(9)]
        with scoped("quiet"):
            quiet = [await it.visit(9_000), await it.visit(8_000)]
        await it.leave(noisy[0])
        assert it.entered[2:] == quiet[1:]  # its own most urgent one
        await it.leave(noisy[1])
        assert it.entered[3] is noisy[2]  # each has one inside, and it is noisy's turn
        await it.leave(quiet[1])
        assert it.entered[4] is quiet[0]


async def test_full_queue_refuses_the_scope_with_most_waiting_calls() -> None:
    async with room(1, max_waiting=3) as it:
        with scoped("noisy"):
            noisy = [await it.visit(1_000 + nth) for nth in range(4)]
        with scoped("quiet"):
            quiet = await it.visit(50_000)
        assert isinstance(noisy[-1].error, Overloaded)
        assert quiet.error is None


async def test_call_above_the_capacity_runs_alone_in_its_turn() -> None:
    async with room(4) as it:
        light = await it.visit(weight=1)
        giant = await it.visit(weight=100)
        behind = await it.visit(weight=1)
        assert not giant.inside
        assert not behind.inside
        await it.leave(light)
        assert giant.inside
        assert not behind.inside
        await it.leave(giant)
        assert behind.inside


async def test_a_full_queue_refuses_the_latest_deadline() -> None:
    async with room(1, max_waiting=2) as it:
        await it.visit()
        soon, late = [await it.visit(at) for at in (2_000, 4_000)]
        newcomer, equal = await it.visit(3_000), await it.visit(3_000)
        assert isinstance(late.error, Overloaded)
        assert isinstance(equal.error, Overloaded)
        assert equal.error.retry_after_s
        assert soon.error is newcomer.error is None
        assert it.gate.waiting == 2


async def test_gate_capacity_can_change() -> None:
    async with room(1) as it:
        visitors = [await it.visit() for _ in range(4)]
        it.gate.capacity = 3
        await settled()
        assert [each.inside for each in visitors] == [True, True, True, False]
        it.gate.capacity = 1
        for leaving in visitors[:2]:
            await it.leave(leaving)
            assert not visitors[3].inside
        await it.leave(visitors[2])
        assert visitors[3].inside


async def test_expired_calls_leave_the_queue() -> None:
    async with room(1, max_waiting=1) as it:
        await it.visit()
        expired = await it.visit(1_000)
        it.now = 2
        newcomer = await it.visit(60_000)
        assert isinstance(expired.error, DeadlineExceeded)
        assert newcomer.error is None
        assert it.gate.waiting == 1


async def test_call_that_cannot_finish_in_time_is_refused() -> None:
    async with room(1) as it:
        first = await it.visit()
        short, patient = await it.visit(600), await it.visit(2_000)
        it.now = 0.7
        await it.leave(first)
        assert isinstance(short.error, DeadlineExceeded)
        assert patient.inside


async def test_waiting_ends_at_the_deadline() -> None:
    gate = Gate("the card", 1, 5)
    async with entered(gate, Deadline.after_ms(60_000)):
        with pytest.raises(DeadlineExceeded):
            async with entered(gate, Deadline.after_ms(10)):
                pytest.fail("there was no room")
        assert (gate.in_use, gate.waiting) == (1, 0)


async def test_call_cancelled_on_entry_frees_its_place() -> None:
    async with room(1) as it:
        first, second, third = [await it.visit() for _ in range(3)]
        first.go.set()
        while it.gate.waiting == 2:
            await anyio.lowlevel.checkpoint()
        await it.cancel(second)
        assert not second.inside
        await it.leave(second)
        assert third.inside
        await it.leave(third)
        assert (it.gate.in_use, it.gate.inside, it.gate.waiting) == (0, 0, 0)


async def test_overdue_place_is_given_to_the_next_call_once() -> None:
    gate, hung = Gate("the card", 1, 5), anyio.Event()

    async def hang() -> None:
        async with entered(gate, Deadline.after_ms(60_000), most_s=0):
            await hung.wait()

    async with entered(gate, Deadline.after_ms(60_000), most_s=0):
        pass  # a call that ends in time removes its timer
    async with anyio.create_task_group() as group:
        group.start_soon(hang)
        await settled()
        async with entered(gate, Deadline.after_ms(60_000)):
            hung.set()
            await settled()
            assert (gate.in_use, gate.inside) == (1, 1)
    assert (gate.in_use, gate.inside, gate.waiting) == (0, 0, 0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("visit"), st.floats(0, 6), st.sampled_from([500.0, 1_000.0, 5_000.0])),
        st.tuples(st.just("leave"), st.integers(0, 50), st.none()),
        st.tuples(st.just("cancel"), st.integers(0, 50), st.none()),
        st.tuples(st.just("cancel and leave"), st.integers(0, 50), st.none()),
        st.tuples(st.just("widen"), st.floats(0.5, 8), st.none()),
        st.tuples(st.just("wait"), st.floats(0, 0.6), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=60)
@given(steps=STEPS, capacity=st.floats(0.5, 8), max_waiting=st.integers(0, 5))
async def test_random_visits_leak_no_weight(
    steps: list[tuple[str, float, float | None]], capacity: float, max_waiting: int
) -> None:
    async with room(capacity, max_waiting) as it:
        visitors: list[Visitor] = []
        for step, number, deadline_ms in steps:
            if step == "visit":
                visitors.append(await it.visit(it.now * 1000 + (deadline_ms or 0), weight=number))
            elif step == "widen":
                it.gate.capacity = number
            elif step == "wait":
                it.now += number
            elif visitors:
                chosen = visitors[int(number) % len(visitors)]
                if step != "leave":
                    chosen.scope.cancel()
                if step != "cancel":
                    chosen.go.set()
            await settled()
            assert it.gate.in_use == pytest.approx(sum(each.weight for each in visitors if each.inside))
            assert it.gate.inside == sum(each.inside for each in visitors)
            assert it.gate.waiting <= max_waiting
        for visitor in visitors:
            visitor.go.set()
            await settled()
        assert (it.gate.in_use, it.gate.inside, it.gate.waiting) == (0, 0, 0)
