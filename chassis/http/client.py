"""What our clients want of HTTP, and how it fails; `chassis.http.pool` speaks it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import httpx

PORTS = {"http": 80, "https": 443}
"""Where an address names none."""

Body = Sequence[bytes]
"""A request's body in pieces, which are sent one after the other and never joined."""


class ExchangeError(Exception):
    """The exchange broke; whether the server did what it was asked is not known."""


class ConnectTimeoutError(ExchangeError):
    """The server does not accept connections: it was never asked."""


class DisconnectedError(ExchangeError):
    """The server closed a connection that was kept, and did not reply; it may have taken the request."""


class ResponseTooLargeError(Exception):
    """The body has more bytes than the caller takes."""


class Response(Protocol):
    """The head of a reply. `headers`: asked for by lower-case names."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises `ExchangeError`."""
        ...


class HttpClient(Protocol):
    """The seam between us and the network."""

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = ()
    ) -> AbstractAsyncContextManager[Response]:
        """Send the request and wait for the reply's head; leaving early closes the connection.

        Raises `ExchangeError`. Keeps no time but that of connecting: that is the caller's to do.
        """
        ...


async def whole(response: Response, most: int) -> bytes:
    """The body. Raises `ResponseTooLargeError` once it is longer than `most` bytes, and `ExchangeError`."""
    first, read = b"", bytearray()  # and no list: pieces may be of two bytes each
    async for piece in response.pieces():
        if len(first) + len(read) + len(piece) > most:
            raise ResponseTooLargeError
        if first:
            read += piece
        else:
            first = piece
    return first + read if read else first


def server_attributes(url: str) -> dict[str, str | int]:
    """Whom a span says was called. Raises `httpx.InvalidURL` for what is no address."""
    address = httpx.URL(url)
    return {"server.address": address.host, "server.port": address.port or PORTS.get(address.scheme, 0)}
