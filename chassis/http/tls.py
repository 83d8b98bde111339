"""HTTPS on one listening socket. Handshakes are bounded in time and number."""

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from chassis.http.connections import address_of

HANDSHAKE_S = 10.0
_MOST_HANDSHAKES, _MOST_OF_ONE_ADDRESS = 128, 16
"""Handshakes at one time: each holds about 256 KiB."""
_AFTER_FAILED_ACCEPT_S = 0.5

_FAILED_HANDSHAKE = (OSError, TimeoutError)
"""`ssl.SSLError` is an `OSError`."""


def server_context() -> ssl.SSLContext:
    """Return a context for HTTP/1.1 servers. Its certificate can be loaded, and replaced, at any time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@dataclass(frozen=True, slots=True)
class TlsListener:
    """A listening socket whose connections begin with a TLS handshake."""

    listener: socket.socket
    context: ssl.SSLContext
    handshake_s: float = HANDSHAKE_S
    _open: Counter[str] = field(default_factory=Counter)

    async def serve(self, open_protocol: Callable[[], asyncio.Protocol]) -> None:
        """Accept connections until cancelled; each gets a protocol once its handshake is done."""
        loop = asyncio.get_running_loop()
        async with anyio.create_task_group() as group:
            while True:
                try:
                    connection, peer = await loop.sock_accept(self.listener)
                except OSError:  # no descriptor is free
                    await anyio.sleep(_AFTER_FAILED_ACCEPT_S)
                    continue
                address = address_of(peer[0])
                if self._open.total() < _MOST_HANDSHAKES and self._open[address] < _MOST_OF_ONE_ADDRESS:
                    self._open[address] += 1
                    group.start_soon(self._shake_hands, connection, address, open_protocol)
                else:
                    connection.close()

    async def _shake_hands(
        self, connection: socket.socket, address: str, open_protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                open_protocol, connection, ssl=self.context, ssl_handshake_timeout=self.handshake_s
            )
        except _FAILED_HANDSHAKE:
            connection.close()
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]
