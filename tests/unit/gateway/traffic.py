"""Open-loop traffic through the gateway's admission, in virtual time: arrivals do not wait for answers."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from chassis.errors import LoreglassError
from chassis.resilience.deadlines import Clock, Deadline
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.serving.tenants import PUBLIC
from gateway.state import Priority
from tests.virtual_time import run_virtual

PLACES = 8
SECONDS = 120
_MEDIAN_S, _SIGMA = 1.0, 0.4
_MEAN_S = _MEDIAN_S * math.exp(_SIGMA**2 / 2)
NEEDED_MS = 1000 * _MEDIAN_S * math.exp(1.28 * _SIGMA)
"""The ninetieth percentile of an answer's time."""

GOOD, LATE = "good", "late"


@dataclass(frozen=True, slots=True)
class Stream:
    """Poisson arrivals at `load` times what the node can do."""

    load: float
    tenant: str = PUBLIC
    priority: Priority = Priority.INTERACTIVE


@dataclass(frozen=True, slots=True)
class Node:
    """How many may wait at its door, and for how long they do."""

    waiting: int = 64
    deadline_ms: float = 10_000
    seed: int = 1


def goodput(node: Node, *streams: Stream) -> list[float]:
    """Of each stream, what was answered within its deadline, in shares of what the node can do."""
    return [
        outcomes[GOOD] * _MEAN_S / PLACES / SECONDS
        for outcomes in run_virtual(lambda clock: _serve(node, streams, clock))
    ]


def outcomes(node: Node, *streams: Stream) -> list[Counter[str]]:
    """Of each stream, how many were answered in time, answered late, or refused with which error."""
    return run_virtual(lambda clock: _serve(node, streams, clock))


async def _serve(node: Node, streams: Sequence[Stream], clock: Clock) -> list[Counter[str]]:
    admission = Admission(AdmissionLimits(PLACES, node.waiting), clock)
    counts = [Counter[str]() for _ in streams]
    async with anyio.create_task_group() as group:
        for number, (stream, count) in enumerate(zip(streams, counts, strict=True)):
            dice = random.Random(f"{node.seed}-{number}")
            group.start_soon(_arrive, admission, node, stream, count, dice, clock)
    assert (admission.in_flight, admission.waiting) == (0, 0)
    return counts


async def _arrive(
    admission: Admission, node: Node, stream: Stream, count: Counter[str], dice: random.Random, clock: Clock
) -> None:
    per_s = stream.load * PLACES / _MEAN_S

    async def ask(work_s: float) -> None:
        deadline = Deadline.after_ms(node.deadline_ms, clock)
        try:
            async with admission.admitted(stream.tenant, stream.priority, deadline, NEEDED_MS):
                with anyio.move_on_after(deadline.remaining_s()) as time:
                    await anyio.sleep(work_s)
            count[LATE if time.cancelled_caught else GOOD] += 1
        except LoreglassError as refusal:
            count[type(refusal).__name__] += 1

    async with anyio.create_task_group() as group:
        while clock() < SECONDS:
            await anyio.sleep(dice.expovariate(per_s))
            group.start_soon(ask, dice.lognormvariate(math.log(_MEDIAN_S), _SIGMA))
