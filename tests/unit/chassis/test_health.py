"""Liveness, readiness and what a service says of itself."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI

from chassis.errors import DependencyUnavailable
from chassis.http.app import ServiceSpec, create_app, create_service
from chassis.http.health import Note
from chassis.resilience.deadlines import Deadline
from chassis.settings import AppSettings, ServiceSettings
from chassis.telemetry.metrics import Metrics
from tests.live import live

pytestmark = pytest.mark.anyio

Check = Callable[[Deadline], Awaitable[object]]


def app_with(checks: dict[str, Check]) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready_checks = checks
        yield

    return create_app("probe", AppSettings(), [], lifespan, Metrics("probe"))


async def fine(_: Deadline) -> None:
    """A check that passes."""


async def down(_: Deadline) -> None:
    raise DependencyUnavailable("It cannot be reached at 10.1.2.3.")


async def broken(_: Deadline) -> None:
    raise ZeroDivisionError("/srv/models/weights.bin")


@pytest.mark.parametrize(("check", "outcome"), [(down, "dependency_unavailable"), (broken, "internal")])
async def test_not_ready_names_what_failed_and_nothing_of_the_inside(check: Check, outcome: str) -> None:
    async with live(app_with({"index": check, "engine": fine})) as client:
        ready, alive = await client.get("/health/ready"), await client.get("/health/live")
    assert ready.status_code == 503
    assert ready.json()["type"] == "urn:loreglass:problem:not_ready"
    assert ready.json()["detail"] == f"Not ready: index ({outcome})"
    assert alive.json()["status"] == "ok"


async def test_head_of_a_health_page_has_its_status_and_no_body() -> None:
    async with live(app_with({"index": down})) as client:
        ready, alive = await client.head("/health/ready"), await client.head("/health/live")
    assert (ready.status_code, ready.content) == (503, b"")
    assert (alive.status_code, alive.content) == (200, b"")


class Engine:
    """An engine that can break."""

    def __init__(self) -> None:
        self.works = True
        self.closed = False

    def probe(self) -> None:
        if not self.works:
            raise RuntimeError("CUDA out of memory")


async def test_a_service_is_ready_only_while_its_engine_really_works() -> None:
    engine = Engine()

    def close(opened: Engine) -> None:
        opened.closed = True

    spec = ServiceSpec("probe", [], lambda _: engine, Engine.probe, close)
    async with live(create_service(spec, ServiceSettings())) as client:
        first = await client.get("/health/ready")
        engine.works = False
        second = await client.get("/health/ready")
        engine.works = True
        third = await client.get("/health/ready")
        info = (await client.get("/info")).json()
    assert [reply.status_code for reply in (first, second, third)] == [200, 503, 200]
    assert (info["service"], info["engine"]) == ("probe", "pocket")
    assert engine.closed


async def test_a_check_may_tell_something_that_keeps_nobody_from_working() -> None:
    async def over(_: Deadline) -> Note:
        return Note("It holds 6 of its 5 GiB.")

    async with live(app_with({"memory": over, "engine": fine})) as client:
        reply = await client.get("/health/ready")
    assert reply.status_code == 200
    assert reply.json()["checks"] == {"engine": "ok", "memory": "It holds 6 of its 5 GiB."}


async def test_what_an_engine_says_when_it_is_tried_is_not_shown() -> None:
    async def talkative(_: Deadline) -> str:
        return "/srv/models/weights.bin"

    async with live(app_with({"engine": talkative})) as client:
        assert (await client.get("/health/ready")).json()["checks"] == {"engine": "ok"}
