"""Benchmark 6: callers that leave take everything with them."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from bench.benchmark import SERVICES, Bench, Benchmark, cores
from bench.figures import Table, number
from bench.overhead import QUESTION, UNLIMITED, gateway_environment
from bench.photo import multipart, photo
from bench.processes import Running, running, sockets, until_ready
from bench.report import About

ABOUT = About(
    "disconnects",
    "6. Five hundred disconnects",
    "Callers upload a photo, wait until the services are at work on it, and close their connection. Watched:"
    " requests in flight by the gateway's metric, its open sockets and asyncio tasks, and calls in work at"
    " the services, which are told by a closed connection.",
    "all back at the baseline within 2 s.",
)
GOAL_S = 2.0
_DELAY_MS = 30_000
_POLL_S = 0.02
_MOST_S = 15.0
_IN_FLIGHT = re.compile(r"^loreglass_requests_in_flight\{[^}]*\} ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Held:
    """What the gateway and the services hold at one moment."""

    in_flight: int
    sockets: int
    tasks: int
    in_work: int

    def within(self, baseline: "Held") -> bool:
        """Whether nothing is held beyond the baseline."""
        return (
            self.in_flight <= baseline.in_flight
            and self.sockets <= baseline.sockets
            and self.tasks <= baseline.tasks
            and self.in_work <= baseline.in_work
        )


async def run(bench: Bench) -> Sequence[Table]:
    """Storms of 500 one after the other: the second shows that the first left nothing."""
    callers = bench.count(500, least=100)
    measured, others = cores()
    rows = []
    with running("bench.noop", cpus=others) as services:
        settings = gateway_environment(services.url) | UNLIMITED
        with running("bench.gateway", settings=settings, cpus=measured) as gateway:
            until_ready(gateway.url)
            async with aiohttp.ClientSession() as watcher:
                for turn in (1, 2):
                    bench.progress(turn / 3, f"storm {turn}")
                    rows.append(await _storm(watcher, gateway, services, callers))
                    worst = max(rows, key=lambda row: row[1])
    table = Table(
        ("storm", "baseline", "at the height", "after", "back after s"),
        tuple((f"{turn}: {callers} callers", *row[0], number(row[1], 2)) for turn, row in enumerate(rows, 1)),
        f"Back at the baseline after {number(worst[1], 2)} s at most. The goal is"
        f" {'met' if worst[1] <= GOAL_S else 'missed'}.",
        ("Each cell: requests in flight / sockets / tasks of the gateway / calls in work at the services.",),
    )
    return [table]


async def _storm(
    watcher: aiohttp.ClientSession, gateway: Running, services: Running, callers: int
) -> tuple[tuple[str, str, str], float]:
    await _delay(watcher, services, 0)
    await _warm(watcher, gateway)
    baseline = await _held(watcher, gateway, services)
    await _delay(watcher, services, _DELAY_MS)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        asking = [asyncio.create_task(_ask(session, gateway)) for _ in range(callers)]
        height = await _until_at_work(watcher, gateway, services, callers)
        left = time.monotonic()
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    after = await _held(watcher, gateway, services)
    while not after.within(baseline) and time.monotonic() - left < _MOST_S:
        await asyncio.sleep(_POLL_S)
        after = await _held(watcher, gateway, services)
    return (_told(baseline), _told(height), _told(after)), time.monotonic() - left


async def _until_at_work(
    watcher: aiohttp.ClientSession, gateway: Running, services: Running, callers: int
) -> Held:
    """All callers are in the gateway and the services have what their connections let through."""
    until, held = time.monotonic() + _MOST_S, await _held(watcher, gateway, services)
    while time.monotonic() < until:
        await asyncio.sleep(0.25)
        before, held = held, await _held(watcher, gateway, services)
        if held.in_flight >= callers and held.in_work and held.in_work == before.in_work:
            break
    return held


async def _ask(session: aiohttp.ClientSession, gateway: Running) -> None:
    body = multipart({"question": QUESTION, "deadline_ms": "60000"}, photo())
    headers = {"Content-Type": body.content_type}
    async with session.post(f"{gateway.url}/answer", data=body.content, headers=headers) as reply:
        await reply.read()


async def _warm(watcher: aiohttp.ClientSession, gateway: Running) -> None:
    """Connections to the services are open, then idle ones are closed, before the baseline is read."""
    for _ in range(len(SERVICES)):
        await _ask(watcher, gateway)
    await asyncio.sleep(4.0)  # longer than the gateway keeps idle connections


async def _held(watcher: aiohttp.ClientSession, gateway: Running, services: Running) -> Held:
    async with watcher.get(f"{gateway.url}/metrics") as reply:
        found = _IN_FLIGHT.search(await reply.text())
    async with watcher.get(f"{gateway.url}/bench/tasks") as reply:
        tasks = (await reply.json())["tasks"]
    async with watcher.get(f"{services.url}/noop/counts") as reply:
        in_work = (await reply.json())["in_work"]
    in_flight = int(float(found[1])) if found else 0
    return Held(in_flight - 1, sockets(gateway.pid), tasks, in_work)  # less the one that asks


async def _delay(watcher: aiohttp.ClientSession, services: Running, milliseconds: int) -> None:
    async with watcher.post(f"{services.url}/noop/delay", data=str(milliseconds)) as reply:
        reply.raise_for_status()


def _told(held: Held) -> str:
    return f"{held.in_flight} / {held.sockets} / {held.tasks} / {held.in_work}"


BENCHMARK = Benchmark(ABOUT, run)
