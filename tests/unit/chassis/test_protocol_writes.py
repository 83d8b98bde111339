"""How a reply leaves: each write to a socket costs a system call and wakes the caller."""

import asyncio

import anyio
import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from chassis.http.connections import ConnectionLimits, Connections
from chassis.http.protocol import BoundedProtocol

pytestmark = pytest.mark.anyio

REQUEST = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]}


class Wire(asyncio.Transport):
    """A socket that keeps what is written to it, a write an entry."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


def served(app: ASGIApp) -> tuple[BoundedProtocol, Wire]:
    """A connection on which a request has come in."""
    protocol = BoundedProtocol(
        config=uvicorn.Config(app, log_config=None),
        server_state=ServerState(),
        app_state={},
        connections=Connections(ConnectionLimits()),
    )
    wire = Wire()
    protocol.connection_made(wire)
    protocol.data_received(REQUEST)
    return protocol, wire


async def settled() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("ends", ["shutdown", "eof_received", "give_way"])
async def test_what_is_held_back_is_written_before_the_end(ends: str) -> None:
    ready, written_at_the_end = anyio.Event(), list[bytes]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await ready.wait()
        await send(HEAD)
        await send({"type": "http.response.body", "body": b"bo", "more_body": True})
        await send({"type": "http.response.body", "body": b"dy"})
        getattr(protocol, ends)()
        written_at_the_end.extend(wire.writes)

    protocol, wire = served(app)
    ready.set()
    await settled()
    assert b"".join(written_at_the_end).endswith(b"\r\n\r\nbody")
