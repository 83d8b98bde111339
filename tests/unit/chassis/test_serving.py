"""Several apps on sockets of their own in one event loop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI

from chassis.serving import BoundApp, listen, running
from tests.unit.chassis.apps import Witness, probe_app

pytestmark = pytest.mark.anyio


async def test_apps_run_side_by_side_and_are_gone_afterwards() -> None:
    bound = [BoundApp(probe_app(Witness()), listen("127.0.0.1", 0)) for _ in range(3)]
    urls = [f"{each.url}/health/live" for each in bound]
    async with running(bound), httpx.AsyncClient() as client:
        statuses = [(await client.get(url)).status_code for url in urls]
    assert statuses == [200, 200, 200]
    async with httpx.AsyncClient() as client:
        for url in urls:
            with pytest.raises(httpx.ConnectError):
                await client.get(url)


async def test_an_app_that_cannot_start_is_named_and_stops_the_others() -> None:
    closed: list[str] = []

    @asynccontextmanager
    async def fine(_: FastAPI) -> AsyncIterator[None]:
        yield
        closed.append("fine")

    @asynccontextmanager
    async def broken(_: FastAPI) -> AsyncIterator[None]:
        raise OSError("no model here")
        yield

    apps = [FastAPI(title="Fine", lifespan=fine), FastAPI(title="Broken", lifespan=broken)]
    bound = [BoundApp(app, listen("127.0.0.1", 0)) for app in apps]
    with pytest.raises(RuntimeError, match="Broken could not start"):
        async with running(bound):
            pytest.fail("it is not up")
    assert closed == ["fine"]


async def test_an_error_of_the_body_comes_out_as_it_was_raised() -> None:
    with pytest.raises(KeyError):
        async with running([BoundApp(probe_app(Witness()), listen("127.0.0.1", 0))]):
            raise KeyError("body")


def test_a_taken_port_is_said_at_once() -> None:
    taken = listen("127.0.0.1", 0)
    with pytest.raises(OSError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])
    taken.close()
