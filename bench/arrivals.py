"""Open-loop load: requests leave when they are due, whether or not earlier ones have come back.

Times are counted from when a request was due, so that a generator or server that falls behind shows in the
figures (no coordinated omission).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bench.replies import Reply
from chassis.resilience.deadlines import Clock

Sleep = Callable[[float], Awaitable[None]]


def evenly(rate: float, seconds: float) -> list[float]:
    """Offsets in seconds, `1 / rate` apart."""
    return [index / rate for index in range(int(rate * seconds))]


def poisson(rate: float, seconds: float, seed: int) -> list[float]:
    """Offsets in seconds of a Poisson process of `rate` a second."""
    chance, offsets, at = random.Random(seed), list[float](), 0.0
    while (at := at + chance.expovariate(rate)) < seconds:
        offsets.append(at)
    return offsets


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request: `due_s` and `sent_s` after the start, `ms` from when it was due to its last byte."""

    due_s: float
    sent_s: float
    ms: float
    reply: Reply


Send = Callable[[int], Awaitable[Reply]]
"""Sends the request of that index."""


async def open_loop(offsets: Sequence[float], send: Send, clock: Clock, sleep: Sleep) -> list[Outcome]:
    """One request at each offset; outcomes in the order in which they were due."""
    started = clock()

    async def shot(index: int, due_s: float) -> Outcome:
        sent_s = clock() - started
        reply = await send(index)
        return Outcome(due_s, sent_s, (clock() - started - due_s) * 1000, reply)

    async with asyncio.TaskGroup() as group:
        shots = []
        for index, due_s in enumerate(offsets):
            ahead_s = due_s - (clock() - started)
            if ahead_s > 0:
                await sleep(ahead_s)
            shots.append(group.create_task(shot(index, due_s)))
    return [shot.result() for shot in shots]


async def closed_loop(concurrency: int, count: int, send: Send, clock: Clock) -> list[Outcome]:
    """`count` requests from `concurrency` callers that each wait for a reply: for saturating a server."""
    started, left, outcomes = clock(), iter(range(count)), list[Outcome]()

    async def caller() -> None:
        for index in left:
            sent_s = clock() - started
            reply = await send(index)
            outcomes.append(Outcome(sent_s, sent_s, (clock() - started - sent_s) * 1000, reply))

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(caller())
    return outcomes
