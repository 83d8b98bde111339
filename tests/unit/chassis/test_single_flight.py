"""What many may ask for and is costly to find out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from fastapi import FastAPI

from chassis.http.app import create_app
from chassis.http.health import SingleFlight
from chassis.resilience.deadlines import Deadline
from chassis.settings import AppSettings
from chassis.telemetry.metrics import Metrics
from tests.live import live
from tests.unit.chassis.test_health import app_with

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def nothing_to_open(_: FastAPI) -> AsyncIterator[None]:
    yield


class Looks:
    """Counts looks; each finds its own number once it is let through."""

    def __init__(self) -> None:
        self.begun = 0
        self.now = 0.0
        self.through = anyio.Event()
        self.through.set()

    def clock(self) -> float:
        return self.now

    async def look(self) -> int:
        self.begun += 1
        number = self.begun
        await self.through.wait()
        return number


@pytest.fixture
async def looks(anyio_backend: object) -> Looks:
    return Looks()


async def test_who_hammers_is_told_the_latest_and_never_an_old_one(looks: Looks) -> None:
    shared = SingleFlight[int](at_once=3, every_s=1.0, clock=looks.clock)
    begun_at = []
    for hundredth in range(500):
        looks.now = hundredth / 100
        before = looks.begun
        await shared.get(looks.look)
        if looks.begun > before:
            begun_at.append(looks.now)
        assert looks.now - begun_at[-1] <= 1.0
    assert len(begun_at) == 4 + 4  # the first, three at once, and one each second that went by


async def test_who_asks_while_a_look_is_under_way_shares_it(looks: Looks) -> None:
    looks.through = anyio.Event()
    shared = SingleFlight[int](at_once=100, every_s=1.0, clock=looks.clock)
    found: list[int] = []

    async def ask() -> None:
        found.append(await shared.get(looks.look))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(ask)
        while not looks.begun:
            await checkpoint()
        looks.through.set()
    assert found == [1] * 50


async def test_the_others_are_answered_when_the_one_who_began_leaves(looks: Looks) -> None:
    looks.through = anyio.Event()
    shared = SingleFlight[int](at_once=100, every_s=1.0, clock=looks.clock)
    async with anyio.create_task_group() as group:
        group.start_soon(shared.get, looks.look)
        while not looks.begun:
            await checkpoint()
        group.cancel_scope.cancel()
    looks.through.set()
    assert await shared.get(looks.look) == 1


async def test_what_a_look_raises_everybody_hears_and_the_next_one_is_new(looks: Looks) -> None:
    async def fails() -> int:
        raise ZeroDivisionError

    shared = SingleFlight[int](at_once=1, every_s=1.0, clock=looks.clock)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await shared.get(fails)
    looks.now = 5.0
    assert await shared.get(looks.look) == 1


async def test_hammering_readiness_does_not_hammer_the_engines() -> None:
    tried = 0

    async def engine(_: Deadline) -> None:
        nonlocal tried
        tried += 1

    async with live(app_with({"engine": engine})) as client:
        began = anyio.current_time()
        replies = [await client.get("/health/ready") for _ in range(20)]
        seconds = anyio.current_time() - began
    assert {reply.status_code for reply in replies} == {200}
    assert tried <= 11 + seconds


async def test_hammering_the_metrics_does_not_write_them_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, written = Metrics("probe"), 0
    exposition = metrics.exposition

    def counted(*arguments: Any) -> tuple[bytes, str]:
        nonlocal written
        written += 1
        return exposition(*arguments)

    monkeypatch.setattr(metrics, "exposition", counted)
    async with live(create_app("probe", AppSettings(), [], nothing_to_open, metrics)) as client:
        began = anyio.current_time()
        for _ in range(60):
            reply = await client.get("/metrics")
            assert b"loreglass_requests_total" in reply.content
        seconds = anyio.current_time() - began
    assert written <= 41 + 4 * seconds
