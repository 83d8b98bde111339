"""Admission under overload in virtual time: admitted questions are answered in time, and nobody starves."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import pytest

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Clock, Deadline
from gateway.serving.admission import Admission
from gateway.serving.tenants import PUBLIC
from gateway.state import Priority
from tests.virtual_time import run_virtual

PLACES = 8
SECONDS = 40
_MEDIAN_S, _SIGMA = 1.0, 0.4
_MEAN_S = _MEDIAN_S * math.exp(_SIGMA**2 / 2)
_P90_MS = 1000 * _MEDIAN_S * math.exp(1.28 * _SIGMA)
GOOD, LATE = "good", "late"


@dataclass(frozen=True, slots=True)
class Stream:
    """Poisson arrivals at `load` times the node's capacity; they do not wait for answers."""

    load: float
    tenant: str = PUBLIC
    priority: Priority = Priority.INTERACTIVE


def serve(
    *streams: Stream, waiting: int = 64, deadline_ms: float = 10_000, seconds: float = SECONDS
) -> list[Counter[str]]:
    """Count the questions of each stream that were answered in time, answered late, or refused by error."""
    return run_virtual(lambda clock: _serve(streams, waiting, deadline_ms, seconds, clock))


def goodput(served: Counter[str]) -> float:
    """Answers within their deadline, as a share of the node's capacity."""
    return served[GOOD] * _MEAN_S / PLACES / SECONDS


async def _serve(
    streams: Sequence[Stream], waiting: int, deadline_ms: float, seconds: float, clock: Clock
) -> list[Counter[str]]:
    admission = Admission(PLACES, waiting, clock)
    counts = [Counter[str]() for _ in streams]

    async def ask(stream: Stream, count: Counter[str], work_s: float) -> None:
        deadline = Deadline.after_ms(deadline_ms, clock)
        try:
            async with admission.admit(stream.tenant, stream.priority, deadline, _P90_MS):
                with anyio.move_on_after(deadline.remaining_s()) as time:
                    await anyio.sleep(work_s)
            count[LATE if time.cancelled_caught else GOOD] += 1
        except LoreglassError as refusal:
            count[type(refusal).__name__] += 1

    async def arrive(stream: Stream, count: Counter[str], dice: random.Random) -> None:
        per_s = stream.load * PLACES / _MEAN_S
        async with anyio.create_task_group() as group:
            while clock() < seconds:
                await anyio.sleep(dice.expovariate(per_s))
                group.start_soon(ask, stream, count, dice.lognormvariate(math.log(_MEDIAN_S), _SIGMA))

    async with anyio.create_task_group() as group:
        for number, (stream, count) in enumerate(zip(streams, counts, strict=True)):
            group.start_soon(arrive, stream, count, random.Random(f"1-{number}"))
    assert (admission.in_flight, admission.waiting) == (0, 0)
    return counts


@pytest.mark.parametrize("deadline_ms", [3_000, 10_000])
def test_goodput_stays_at_its_peak_at_five_times_the_capacity(deadline_ms: float) -> None:
    measured = [goodput(serve(Stream(load), deadline_ms=deadline_ms)[0]) for load in (1.0, 2.0, 5.0)]
    assert max(measured) > 0.9
    assert measured[-1] >= 0.95 * max(measured)


def test_nobody_is_refused_below_capacity() -> None:
    assert set(serve(Stream(0.7))[0]) == {GOOD}
