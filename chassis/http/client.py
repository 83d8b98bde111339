"""The HTTP client that our clients use, and its errors. `chassis.http.pool` implements it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import httpx

_PORTS = {"http": 80, "https": 443}
"""Default ports."""


class ExchangeError(Exception):
    """The exchange failed. The server may have executed the request."""


class ConnectTimeoutError(ExchangeError):
    """The server does not accept connections: the request was not sent."""


class DisconnectedError(ExchangeError):
    """The server closed an idle connection and did not reply. It may have executed the request."""


class ResponseTooLargeError(Exception):
    """The body has more bytes than the caller accepts."""


class Response(Protocol):
    """A reply whose headers have arrived; their names are looked up in lower case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises `ExchangeError`."""
        ...


class HttpClient(Protocol):
    """The seam between us and the network."""

    def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AbstractAsyncContextManager[Response]:
        """Send the request and yield the reply once its headers arrived. Leaving early closes the connection.

        Raises `ExchangeError`. Only connecting has a time limit here; callers set their own for the rest.
        """
        ...


async def whole(response: Response, most: int) -> bytes:
    """Return the body. Raises `ResponseTooLargeError` above `most` bytes, and `ExchangeError`."""
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
    """Return a span's attributes for the server. Raises `httpx.InvalidURL`."""
    address = httpx.URL(url)
    return {"server.address": address.host, "server.port": address.port or _PORTS.get(address.scheme, 0)}
