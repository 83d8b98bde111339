"""The load generator: processes of its own, so that it shares no event loop with what it loads."""

import asyncio
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp
import uvloop

from bench.arrivals import Outcome, closed_loop, open_loop
from bench.replies import NO_REPLY, Reply, reply_of


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
    """A handle on the processes; each load has one to itself."""

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
