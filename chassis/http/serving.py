"""Runs apps on sockets: one app for `python -m services.x`, many for the one-process profile."""

import asyncio
import contextlib
import gc
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar, cast

import anyio
import structlog
import uvicorn
from fastapi import FastAPI

from chassis.errors import LoreglassError
from chassis.http.connections import ConnectionLimits, Connections, connections_allowed
from chassis.http.protocol import BoundedProtocol
from chassis.http.tls import TlsListener
from chassis.settings import DRAIN_S, AppSettings, TelemetrySettings
from chassis.startup import CannotStart, sentence_of
from chassis.telemetry.logs import configure_logging
from chassis.telemetry.spans import open_telemetry
from chassis.validation import from_environment

Settings = TypeVar("Settings", bound=AppSettings)

_TICK_S = 1.0
_COLLECTED_AFTER = (20_000, 20, 20)
"""Objects more than before, and collections of younger ones. By Python's 700, every second or third question
pays for going through all that are in hand: a tenth of a follow-up's CPU. Cycles hold no bodies or photos."""
_EXPLAINED = (CannotStart, LoreglassError, ImportError, OSError)
"""Failures that their text explains; for any other the traceback is logged."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BoundApp:
    """An app and the listening socket that is already its own, and perhaps a second one for HTTPS.

    `drain_s`: once told to stop, it finishes what it has in hand for at most so long.
    """

    app: FastAPI
    listener: socket.socket
    drain_s: int = DRAIN_S
    tls: TlsListener | None = None

    @property
    def url(self) -> str:
        """The app's address."""
        host, port = self.listener.getsockname()[:2]
        return f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening TCP socket; port 0 picks a free one. Raises `OSError` when the port is taken."""
    listener = socket.create_server((host, port), backlog=512)
    # Connections inherit it. asyncio sets it only on sockets that name their protocol, which these do not,
    # and without it every reply on a kept connection waits 40 ms for a delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setblocking(False)
    return listener


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the process has one set for all of its servers."""

    def __init__(self, bound: BoundApp, allowed: int) -> None:
        self._bound = bound
        self._failure: Exception | None = None
        self._register = getattr(bound.app.state, "connections", Connections(ConnectionLimits()))
        self._register.fit(allowed)
        self._stopping = anyio.Event()
        super().__init__(
            uvicorn.Config(
                bound.app,
                lifespan="off",
                http=cast(type[asyncio.Protocol], partial(BoundedProtocol, connections=self._register)),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=bound.drain_s,
            )
        )

    async def run_bound(self) -> None:
        """Serve until `stop`. Does not raise if the app does not start: `wait_until_up` does."""
        app = self._bound.app
        try:
            async with app.router.lifespan_context(app):
                await self.serve([self._bound.listener])
        except Exception as error:
            self._failure = error
            if self.started or not isinstance(error, _EXPLAINED):
                log.error("stop_failed" if self.started else "start_failed", app=app.title, exc_info=error)
        finally:
            self._bound.listener.close()
            if self._bound.tls is not None:
                self._bound.tls.listener.close()

    async def wait_until_up(self) -> None:
        """Raises `CannotStart`."""
        while not self.started:
            if self._failure is not None:
                reason = sentence_of(self._failure)
                raise CannotStart(f"{self._bound.app.title} could not start: {reason}.") from self._failure
            await anyio.sleep(0.01)

    def stop(self) -> None:
        """Take no new connections, and end when what is in hand is done."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Look at the connections every second, where uvicorn wakes ten times for it, until told to stop."""
        async with anyio.create_task_group() as group:
            if self._bound.tls is not None:
                group.start_soon(self._bound.tls.serve, self._open_protocol)
            while not await self.on_tick(0):
                self._register.watch(_TICK_S)
                with anyio.move_on_after(_TICK_S):
                    await self._stopping.wait()
            group.cancel_scope.cancel()

    def _open_protocol(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def running(apps: Sequence[BoundApp]) -> AsyncIterator[None]:
    """Serve `apps` in this event loop; they start side by side, and all are up when this yields.

    Raises `CannotStart` when one of them does not come up.
    """
    allowed = connections_allowed(len(apps))
    servers = [_Server(bound, allowed) for bound in apps]
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(server.run_bound)
        try:
            for server in servers:
                await server.wait_until_up()
            yield
        except Exception as error:  # noqa: BLE001 - raised below: in here it would cut the servers off
            failure = error
        finally:
            for server in servers:
                server.stop()
    if failure is not None:
        raise failure


async def until_signalled() -> None:
    """Wait for SIGINT or SIGTERM, everything being up.

    What is in memory by now stays there: left to the collector, going through it takes a tenth of a second
    now and then, in the middle of somebody's question.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return


def run(settings_class: type[Settings], create_app: Callable[[Settings], FastAPI]) -> None:
    """`serve` for a module's `__main__`, with settings from the environment."""
    try:
        settings = from_environment(settings_class)
    except CannotStart as error:
        sys.exit(str(error))
    serve(create_app(settings), settings)


def serve(app: FastAPI, settings: AppSettings) -> None:
    """Serve one app until the process is told to stop; exits with a sentence when it cannot start."""
    configure_logging(settings.log_level)
    try:
        bound = BoundApp(app, listen(settings.host, settings.port), settings.drain_s)
    except (OSError, OverflowError) as error:
        sys.exit(f"{app.title} cannot listen on {settings.host}:{settings.port}: {sentence_of(error)}.")

    async def main() -> None:
        async with running([bound]):
            await until_signalled()

    try:
        with open_telemetry(TelemetrySettings().exporters):
            anyio.run(main, backend_options={"use_uvloop": True})
    except CannotStart as error:
        sys.exit(str(error))
