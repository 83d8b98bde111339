"""Admission: bounded, in order of deadlines, and refusing at once what cannot be in time."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded
from chassis.resilience.deadlines import Clock, Deadline
from gateway.serving.admission import Admission, Refusal
from gateway.state import Priority
from tests.virtual_time import run_virtual

INTERACTIVE, STANDARD, BACKGROUND = Priority
Scene = Callable[["Door", TaskGroup], Coroutine[Any, Any, None]]


class Door:
    """An admission with a record of who came in, in which order, and who was refused with what."""

    def __init__(self, at_once: int, waiting: int, clock: Clock) -> None:
        self.clock = clock
        self.refusals: list[tuple[Priority, Refusal]] = []
        self.admission = Admission(at_once, waiting, clock, lambda *refusal: self.refusals.append(refusal))
        self.entered: list[str] = []
        self.refused: dict[str, LoreglassError] = {}
        self.refused_at: dict[str, float] = {}

    async def ask(
        self,
        name: str,
        *,
        tenant: str = "public",
        priority: Priority = INTERACTIVE,
        within_s: float = 100.0,
        needed_s: float = 0.0,
        work_s: float = 1.0,
    ) -> None:
        """One question, from its arrival to its end."""
        deadline = Deadline.after_ms(within_s * 1000, self.clock)
        try:
            async with self.admission.admit(tenant, priority, deadline, needed_s * 1000):
                self.entered.append(name)
                await anyio.sleep(work_s)
        except LoreglassError as error:
            self.refused[name] = error
            self.refused_at[name] = self.clock()


def play(scene: Scene, in_flight: int = 1, waiting: int = 10) -> Door:
    """Return the door after the scene and everything that it started."""

    async def main(clock: Clock) -> Door:
        door = Door(in_flight, waiting, clock)
        async with anyio.create_task_group() as group:
            await scene(door, group)
        assert (door.admission.in_flight, door.admission.waiting) == (0, 0)
        return door

    return run_virtual(main)


async def arrive(group: TaskGroup, door: Door, name: str, **visit: Any) -> None:
    """A question that has come as far as it gets now."""
    group.start_soon(partial(door.ask, name, **visit))
    await anyio.wait_all_tasks_blocked()


def arrivals(visits: Mapping[str, Mapping[str, Any]]) -> Scene:
    """Return a scene in which the questions arrive in order."""

    async def scene(door: Door, group: TaskGroup) -> None:
        for name, visit in visits.items():
            await arrive(group, door, name, **visit)

    return scene


def test_questions_over_the_limit_wait() -> None:
    async def scene(door: Door, group: TaskGroup) -> None:
        for name in "abc":
            await arrive(group, door, name)
        assert door.entered == ["a", "b"]
        assert (door.admission.in_flight, door.admission.waiting) == (2, 1)
        await anyio.sleep(0.4)
        assert door.admission.oldest_wait_ms == pytest.approx(400)

    assert play(scene, in_flight=2).entered == ["a", "b", "c"]


def test_node_is_busy_from_half_its_places() -> None:
    async def scene(door: Door, group: TaskGroup) -> None:
        assert not door.admission.busy
        await arrive(group, door, "a")
        assert not door.admission.busy
        await arrive(group, door, "b")
        assert door.admission.busy

    play(scene, in_flight=4)


def test_waiting_question_expires_while_there_is_time_to_answer() -> None:
    door = play(arrivals({"long": {"work_s": 50}, "waits": {"within_s": 10, "needed_s": 0.5}}))
    assert isinstance(door.refused["waits"], DeadlineExceeded)
    assert door.refused_at["waits"] == pytest.approx(9.5)
    assert door.refusals == [(INTERACTIVE, Refusal.EXPIRED)]


def test_question_with_too_little_time_is_refused_although_there_is_room() -> None:
    door = play(arrivals({"hopeless": {"within_s": 1, "needed_s": 2}}))
    assert isinstance(door.refused["hopeless"], DeadlineExceeded)


def test_question_with_a_late_expected_turn_is_shed_on_arrival() -> None:
    async def scene(door: Door, group: TaskGroup) -> None:
        await door.ask("teaches the pace", work_s=4)
        for name in ("a", "b", "c"):
            await arrive(group, door, name, work_s=4, within_s=60)
        arrived = door.clock()
        await arrive(group, door, "late", within_s=13, needed_s=2, tenant="another")
        await arrive(group, door, "too late", within_s=14, needed_s=3, priority=BACKGROUND)
        assert "late" not in door.refused
        assert door.refused_at == {"too late": arrived}

    door = play(scene)
    shed = door.refused["too late"]
    assert isinstance(shed, Overloaded)
    assert shed.retry_after_s == 16  # four that wait, four seconds each
    assert door.refusals == [(BACKGROUND, Refusal.TOO_LATE)]


@pytest.mark.parametrize("within_s", [(11, 11, 11, 11), (11, 7, 5)])
def test_initial_pace_estimate_is_the_needed_time(
    within_s: Sequence[float],
) -> None:
    visits = {str(place): {"within_s": each, "needed_s": 4} for place, each in enumerate(within_s)}
    assert set(play(arrivals(visits)).refused) == {str(len(within_s) - 1)}


def test_full_queue_sheds_the_lowest_priority_and_latest_deadline() -> None:
    visits = {
        "in": {},
        "background": {"priority": BACKGROUND, "within_s": 20},
        "patient background": {"priority": BACKGROUND, "within_s": 90},
        "interactive": {},
        "more background": {"priority": BACKGROUND, "within_s": 95},
        "urgent background": {"priority": BACKGROUND, "within_s": 10},
        "standard": {"priority": STANDARD},
    }
    door = play(arrivals(visits), waiting=3)
    assert set(door.refused) == {"patient background", "more background", "background"}
    assert set(door.refusals) == {(BACKGROUND, Refusal.FULL)}
    assert door.entered == ["in", "interactive", "standard", "urgent background"]


TENTHS = st.integers(0, 40).map(lambda tenths: tenths / 10)
ASKED = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from("abc"),
        "priority": st.sampled_from(Priority),
        "within_s": TENTHS,
        "needed_s": TENTHS,
        "work_s": TENTHS,
    }
)
VISITS = st.lists(st.tuples(TENTHS, ASKED, st.none() | TENTHS), max_size=30)
"""Seconds after the visit before, what is asked, and the seconds until the caller gives up, if at all."""


@settings(max_examples=80)
@given(VISITS, st.integers(1, 3), st.integers(0, 5))
def test_random_visits_keep_limits_and_lose_no_place(
    visits: list[tuple[float, dict[str, Any], float | None]], in_flight: int, waiting: int
) -> None:
    left = 0

    async def scene(door: Door, group: TaskGroup) -> None:
        def check() -> None:
            held, queued = door.admission.in_flight, door.admission.waiting
            assert held <= in_flight
            assert queued <= waiting
            assert queued == 0 or held == in_flight

        async def come(name: str, visit: dict[str, Any], leaves_after_s: float | None) -> None:
            nonlocal left
            with anyio.move_on_after(leaves_after_s) as stay:
                await door.ask(name, **visit)
            left += stay.cancelled_caught
            check()

        for number, (after_s, *visit) in enumerate(visits):
            await anyio.sleep(after_s)
            group.start_soon(come, str(number), *visit)
            await anyio.wait_all_tasks_blocked()
            check()

    door = play(scene, in_flight, waiting)
    assert len(door.entered) + len(door.refused) <= len(visits)
    assert len(door.entered) + len(door.refused) + left >= len(visits)
    assert len(door.refusals) >= len(door.refused)  # some have left before they heard
