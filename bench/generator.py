"""The load generator: it sends requests from processes of its own, and says how each one ended.

In an open loop requests leave when they are due, whether or not earlier ones have come back. Times are
counted from when a request was due, so that a generator or server that falls behind shows in the figures (no
coordinated omission).
"""

import asyncio
import io
import json
import multiprocessing
import os
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

import aiohttp
import httpx
import numpy as np
import uvloop
from PIL import Image

from chassis.resilience.deadlines import Clock

NO_REPLY = "no reply"
"""The kind of a request whose caller gave up."""
_BOUNDARY = "loreglass-bench-f3a9"


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. `status` 0: none came. `kind`: an answer's reason, a problem's kind, or the client's error."""

    status: int
    kind: str = ""
    answered: bool = False
    degraded: tuple[str, ...] = ()


class Fate(StrEnum):
    """The outcome of a question. Refused: by an answer with a reason."""

    FULL = "full"
    DEGRADED = "degraded"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    TURNED_AWAY = "turned away"
    LATE = "late"
    FAILED = "failed"


def reply_of(status: int, content: bytes) -> Reply:
    """Read an answer's body, or a problem's."""
    try:
        body: dict[str, Any] = json.loads(content)
    except ValueError:
        return Reply(status, "unreadable")
    if status != 200:
        return Reply(status, str(body.get("type", "")).rpartition(":")[2])
    return Reply(
        status, body.get("reason", ""), not body.get("abstained", True), tuple(body.get("degraded", ()))
    )


def fate_of(reply: Reply, ms: float, deadline_ms: float) -> Fate:
    """Return how a question ended that took `ms` to its last byte."""
    if ms > deadline_ms and (reply.status in (200, 503) or reply.kind == NO_REPLY):
        return Fate.LATE
    if reply.status not in (200, 503):
        return Fate.FAILED
    if reply.status == 503 or reply.kind == "overloaded":
        return Fate.TURNED_AWAY
    if reply.kind == "timed_out":
        return Fate.TIMED_OUT
    if not reply.answered:
        return Fate.REFUSED
    return Fate.DEGRADED if reply.degraded else Fate.FULL


Sleep = Callable[[float], Awaitable[None]]


def evenly(rate: float, seconds: float) -> list[float]:
    """Return offsets in seconds, `1 / rate` apart."""
    return [index / rate for index in range(int(rate * seconds))]


def poisson(rate: float, seconds: float, seed: int) -> list[float]:
    """Return offsets in seconds of a Poisson process of `rate` a second."""
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


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body, built before the clock runs: a photo must not be the generator's bottleneck."""

    content: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class Load:
    """Requests to send: at `offsets` or, without any, by `concurrency` callers.

    `bodies` in turn, or as `order` says, index by index.
    """

    url: str
    bodies: tuple[Body, ...]
    order: tuple[int, ...] = ()
    offsets: tuple[float, ...] = ()
    concurrency: int = 1
    count: int = 0
    give_up_s: float = 80.0


class Generator:
    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    async def fire(self, load: Load) -> list[Outcome]:
        """Send it all and wait for all replies."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _fire, load)


@contextmanager
def generator(cpus: Sequence[int] = (), most: int = 6) -> Iterator[Generator]:
    """Up to `most` processes, kept for the length of the context, on `cpus` where given."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(most, mp_context=spawn, initializer=_pin, initargs=(tuple(cpus),)) as pool:
        yield Generator(pool)


def _pin(cpus: tuple[int, ...]) -> None:
    if cpus:
        os.sched_setaffinity(0, cpus)


def _fire(load: Load) -> list[Outcome]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_send_all(load))


async def _send_all(load: Load) -> list[Outcome]:
    timeout = aiohttp.ClientTimeout(total=load.give_up_s)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def send(index: int) -> Reply:
            place = load.order[index % len(load.order)] if load.order else index % len(load.bodies)
            return await _post(session, load.url, load.bodies[place])

        if load.offsets:
            return await open_loop(load.offsets, send, time.monotonic, asyncio.sleep)
        return await closed_loop(load.concurrency, load.count, send, time.monotonic)


async def _post(session: aiohttp.ClientSession, url: str, body: Body) -> Reply:
    try:
        async with session.post(
            url, data=body.content, headers={"Content-Type": body.content_type}
        ) as response:
            return reply_of(response.status, await response.read())
    except TimeoutError:
        return Reply(0, NO_REPLY)
    except aiohttp.ClientError as error:
        return Reply(0, type(error).__name__)


@cache
def photo(width: int = 1280, height: int = 960) -> bytes:
    """Return a JPEG of about 170 kB at this size, like a phone's camera app after scaling."""
    chance = np.random.default_rng(0)
    coarse = chance.integers(0, 256, (height // 24, width // 24, 3), dtype=np.uint8)
    picture = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def multipart(fields: dict[str, str], jpeg: bytes | None = None, part: str = "image") -> Body:
    """Return a form as browsers send it, with the photo in `part`."""
    parts: list[tuple[str, Any]] = [(name, (None, value)) for name, value in fields.items()]
    if jpeg is not None:
        parts.append((part, ("photo.jpg", jpeg, "image/jpeg")))
    kind = f"multipart/form-data; boundary={_BOUNDARY}"
    request = httpx.Request("POST", "http://gateway", files=parts, headers={"Content-Type": kind})
    return Body(request.read(), kind)
