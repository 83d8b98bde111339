"""Runs apps on sockets: one app for `python -m services.x`, many for the one-process profile."""

import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

import anyio
import uvicorn
from fastapi import FastAPI

from chassis.logs import configure_logging
from chassis.settings import AppSettings

_GRACE_S = 3
_KEEP_ALIVE_S = 75  # longer than our clients keep idle connections, so that none is closed under a request


@dataclass(frozen=True, slots=True)
class BoundApp:
    """An app and the listening socket that is already its own."""

    app: FastAPI
    listener: socket.socket

    @property
    def url(self) -> str:
        """Where callers reach it."""
        host, port = self.listener.getsockname()[:2]
        return f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening TCP socket; port 0 picks a free one. Raises `OSError` when the port is taken."""
    listener = socket.create_server((host, port), backlog=512)
    listener.setblocking(False)
    return listener


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the process has one set for all of its servers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _server(app: FastAPI) -> _Server:
    return _Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_GRACE_S,
        )
    )


@contextlib.asynccontextmanager
async def running(apps: Sequence[BoundApp]) -> AsyncIterator[None]:
    """Serve `apps` in this event loop; they start side by side, and all are up when this yields."""
    servers = [_server(bound.app) for bound in apps]
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        for server, bound in zip(servers, apps, strict=True):
            group.start_soon(_serve, server, bound)
        try:
            for server, bound in zip(servers, apps, strict=True):
                await _started(server, bound)
            yield
        except Exception as error:  # noqa: BLE001 - raised below: in here it would cut the servers off
            failure = error
        finally:
            for server in servers:
                server.should_exit = True
    if failure is not None:
        raise failure


async def _serve(server: _Server, bound: BoundApp) -> None:
    try:
        await server.serve([bound.listener])
    except SystemExit:  # how uvicorn says that the app did not start; the others would not hear of it
        server.should_exit = True
        bound.listener.close()


async def _started(server: _Server, bound: BoundApp) -> None:
    while not server.started:
        if server.should_exit:
            raise RuntimeError(f"{bound.app.title} could not start; see the log above.")
        await anyio.sleep(0.01)


async def until_signalled() -> None:
    """Wait for SIGINT or SIGTERM."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return


def serve(app: FastAPI, settings: AppSettings) -> None:
    """Serve one app until the process is told to stop."""
    configure_logging(settings.log_level)

    async def main() -> None:
        async with running([BoundApp(app, listen(settings.host, settings.port))]):
            await until_signalled()

    anyio.run(main, backend_options={"use_uvloop": True})
