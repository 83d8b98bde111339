"""Connections that can fall silent: uvicorn's protocol, below which a line is cut or reset."""

import asyncio
import socket
import struct
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bench.fleet.switches import Line, Mode

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Connections:
    """Those of one service that are open. `protocol` is what uvicorn makes for each."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.open: set[_Connection] = set()

    def protocol(self, *arguments: Any, **options: Any) -> asyncio.Protocol:
        """uvicorn's own protocol, on this line."""
        connection = _Connection(*arguments, **options)
        connection.siblings = self
        return connection

    def follow(self) -> None:
        """After the line was turned: reset what is open, or read what had to wait."""
        for connection in list(self.open):
            if self.line.mode is Mode.RESET:
                connection.reset()
            elif not self.line.is_cut:
                connection.read_on()


class _Connection(HttpToolsProtocol):
    siblings: Connections
    _unread: bytes = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.siblings.open.add(self)
        if self.siblings.line.mode is Mode.RESET:
            self.reset()

    def connection_lost(self, exc: Exception | None) -> None:
        self.siblings.open.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.siblings.line.is_cut:
            self._unread += data
            self.transport.pause_reading()
        else:
            super().data_received(data)

    def read_on(self) -> None:
        """Take up what came while the line was cut."""
        unread, self._unread = self._unread, b""
        self.transport.resume_reading()
        if unread:
            super().data_received(unread)

    def reset(self) -> None:
        """End it with RST."""
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE
        )
        self.transport.abort()
