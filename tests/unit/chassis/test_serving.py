"""Several apps on sockets of their own in one event loop."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from fastapi import FastAPI

from chassis.errors import NotReady
from chassis.http import serving
from chassis.http.connections import ConnectionLimits, Connections
from chassis.http.serving import BoundApp, listen, run, running
from chassis.settings import RemoteModelSettings
from chassis.startup import CannotStart, WrongSettings, sentence_of
from tests.unit.chassis.apps import Witness, probe_app, until


@pytest.mark.parametrize(("drain_s", "heard"), [(20, ["done"]), (0, [])])
async def test_stopping_app_finishes_running_requests(drain_s: int, heard: list[str]) -> None:
    begun, may_end = anyio.Event(), anyio.Event()
    app, replies = FastAPI(), list[str]()

    @app.get("/work")
    async def work() -> str:
        begun.set()
        await may_end.wait()
        return "done"

    async def ask(url: str) -> None:
        async with httpx.AsyncClient() as client:
            with contextlib.suppress(httpx.HTTPError):
                reply = await client.get(url, timeout=30)
                replies.extend([reply.json()] if reply.is_success else [])
        may_end.set()

    async def end_it() -> None:
        if drain_s:
            await until(lambda: bound.listener.fileno() == -1)
        else:  # reached only if the app drains although drain_s is 0
            await anyio.sleep(1.5)
        may_end.set()

    bound = BoundApp(app, listen("127.0.0.1", 0), drain_s)
    async with anyio.create_task_group() as group, running([bound]):
        group.start_soon(ask, f"{bound.url}/work")
        await begun.wait()
        group.start_soon(end_it)
    assert replies == heard


async def test_app_that_cannot_start_stops_the_others() -> None:
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
    with pytest.raises(CannotStart, match=r"^Broken could not start: no model here\.$"):
        async with running(bound):
            pytest.fail("it is not up")
    assert closed == ["fine"]


def test_start_failure_is_one_sentence_without_a_traceback() -> None:
    environment = {**os.environ, "LOREGLASS_RERANKER_ENGINE": "remote", "LOREGLASS_RERANKER_PORT": "0"}
    command = [sys.executable, "-m", "services.reranker"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    output = ended.stderr.splitlines()
    assert ended.returncode == 1
    assert output[-1] == "Loreglass reranker could not start: reranker: engine=remote needs remote_url."
    assert len(output) <= 2  # uvicorn's own line comes before it
    assert "Traceback" not in ended.stderr + ended.stdout


@pytest.mark.parametrize(
    ("name", "value"),
    [("DEVICE", "tpu"), ("LOG_LEVEL", "chatty"), ("MEMORY_SHARE", "1.5"), ("REMOTE_URL", "localhost:8000")],
)
def test_invalid_setting_is_named_without_its_value(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Settings(RemoteModelSettings):
        model_config = {"env_prefix": "PROBE_"}

    def create(_: Settings) -> FastAPI:
        raise AssertionError("the settings are wrong")

    monkeypatch.setenv(f"PROBE_{name}", value)
    with pytest.raises(SystemExit, match=f"^PROBE_{name}: ") as caught:
        run(Settings, create)
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ModuleNotFoundError("No module named 'torch'", name="torch"), "the package torch is not installed"),
        (NotReady(), "Not ready yet"),
        (WrongSettings("No head.\nSee the manual."), "No head"),
        (KeyError(), "KeyError"),
    ],
)
def test_start_failure_is_one_line(error: Exception, sentence: str) -> None:
    assert sentence_of(error) == sentence


async def test_error_in_the_body_is_raised_unchanged() -> None:
    with pytest.raises(KeyError):
        async with running([BoundApp(probe_app(Witness()), listen("127.0.0.1", 0))]):
            raise KeyError("body")


async def test_replies_on_a_kept_connection_do_not_wait_for_a_delayed_acknowledgement() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        with anyio.fail_after(10):
            accepted, _ = await asyncio.get_running_loop().sock_accept(listener)
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_connection_checks_stop_with_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thrice = anyio.Event()

    class Watched(Connections):
        looks = 0

        def watch(self, seconds: float) -> None:
            assert seconds == serving._TICK_S
            self.looks += 1
            if self.looks == 3:
                monkeypatch.setattr(serving, "_TICK_S", 3600.0)
                thrice.set()

    monkeypatch.setattr(serving, "_TICK_S", 0.01)
    app = FastAPI()
    app.state.connections = watched = Watched(ConnectionLimits())
    with anyio.fail_after(60):
        async with running([BoundApp(app, listen("127.0.0.1", 0))]):
            await thrice.wait()
    assert watched.looks == 3
