"""A node's services on sockets of this process, each on its own, and one for the switches."""

import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import anyio
import uvicorn
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench.fleet.connections import Connections
from bench.fleet.shell import ServiceShell
from bench.fleet.switches import Line, Mode, Switch
from capacity.standins import SERVICES, VLM, Node, Slowness
from chassis.http.serving import listen

_IDLE_S = 75
_GRACE_S = 1


@dataclass(frozen=True, slots=True)
class Served:
    """Where the services and the switches are; `turn` does what `POST /fleet/switch` does."""

    urls: Mapping[str, str]
    control: str
    panel: "Panel"

    def turn(self, switch: Switch) -> None:
        """Turn a switch in this process."""
        self.panel.turn(switch)


class Panel:
    """The switches of the services that this process serves."""

    def __init__(self, node: Node, connections: Mapping[str, Connections]) -> None:
        self._node = node
        self._connections = connections

    def turn(self, switch: Switch) -> None:
        """One fault begins and any other ends; what `/info` tells stays until it is told otherwise."""
        service, node = switch.service, self._node
        connections = self._connections[service]
        slow = Slowness(switch.factor, switch.share) if switch.mode is Mode.SLOW else Slowness()
        node.slowness[service] = slow
        if switch.mode is Mode.MEMORY:
            node.memory_peak_mib[service] = switch.memory_mib
        elif switch.mode is Mode.NORMAL:
            node.memory_peak_mib[service] = node.calibration.memory_mib.get(service, 0)
        connections.line.turn(switch.mode, switch.share)
        connections.follow()

    def hang_up(self) -> None:
        """Reset every connection: what hangs would keep the servers from ending."""
        for connections in self._connections.values():
            connections.line.turn(Mode.RESET, share=1.0)
            connections.follow()

    def counts(self) -> dict[str, dict[str, float]]:
        """What became of the calls so far, and what waits now."""
        node = self._node
        told: dict[str, dict[str, float]] = {
            name: asdict(node.counts[name]) for name in SERVICES if name in self._connections
        }
        for name, station in node.stations.items():
            if name in told:
                told[name] |= {"waiting": station.waiting, "most_waiting": station.most_waiting}
        if VLM in told:
            told[VLM] |= asdict(node.vlm.record) | {
                "waiting": node.vlm.waiting,
                "running": node.vlm.running,
                "mean_batch": node.vlm.record.mean_batch,
            }
        return told

    def app(self) -> Starlette:
        """The control routes."""

        async def switch(request: Request) -> Response:
            try:
                asked = Switch.model_validate_json(await request.body())
            except ValidationError as error:
                return JSONResponse({"detail": str(error)}, 422)
            if asked.service not in self._connections:
                return JSONResponse({"detail": f"{asked.service} is not served here"}, 404)
            self.turn(asked)
            return Response(status_code=204)

        async def counts(request: Request) -> Response:
            return JSONResponse(self.counts())

        routes = [
            Route("/fleet/switch", switch, methods=["POST"]),
            Route("/fleet/counts", counts, methods=["GET"]),
        ]
        return Starlette(routes=routes)


@asynccontextmanager
async def serving(node: Node, ports: Mapping[str, int], seed: int = 1) -> AsyncIterator[Served]:
    """Serve the services named in `ports`, on loopback (port 0: a free one). All are up when it yields."""
    connections = {name: Connections(Line(seed, name)) for name in ports}
    panel = Panel(node, connections)
    with ExitStack() as opened:
        listeners = {name: opened.enter_context(listen("127.0.0.1", port)) for name, port in ports.items()}
        for_control = opened.enter_context(listen("127.0.0.1", 0))
        servers = [(_Server(_config(panel.app(), "httptools")), for_control)]
        for name, held in connections.items():
            shell = ServiceShell(node, name, held.line)
            servers.append((_Server(_config(shell, held.protocol)), listeners[name]))
        urls = {name: _url(listener) for name, listener in listeners.items()}
        async with _running(servers, panel):
            yield Served(urls, _url(for_control), panel)


@asynccontextmanager
async def _running(servers: Sequence[tuple["_Server", socket.socket]], panel: Panel) -> AsyncIterator[None]:
    """All of them, up; what the body raises comes out as it was raised."""
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        for server, listener in servers:
            group.start_soon(server.serve, [listener])
        for server, _ in servers:
            await server.up.wait()
        try:
            yield
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            failure = error
        finally:
            panel.hang_up()
            for server, _ in servers:
                server.should_exit = True
    if failure is not None:
        raise failure


class _Server(uvicorn.Server):
    """Without uvicorn's signal handlers, since many of them share a process; `up` once it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: Any, protocol: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{host}:{port}"
