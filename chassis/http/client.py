"""HTTP to other servers by one connection pool: no redirects, no cookies, nothing unpacked."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Protocol, Self

import aiohttp
import httpx
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

Body = Sequence[bytes]
"""A request's body in pieces, which are sent one after the other and never joined."""

_PLAIN = {"Accept-Encoding": "identity", "User-Agent": "loreglass"}
"""Nothing compressed is asked for or unpacked: a few bytes could become more than memory holds."""


class ExchangeError(Exception):
    """The exchange broke; whether the server did what it was asked is not known."""


class ConnectTimeoutError(ExchangeError):
    """The server does not accept connections: it was never asked."""


class DisconnectedError(ExchangeError):
    """The server closed the connection and did not reply, as it may one that was kept."""


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
    parts: list[bytes] = []
    size = 0
    async for piece in response.pieces():
        size += len(piece)
        if size > most:
            raise ResponseTooLargeError
        parts.append(piece)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def server_attributes(url: str) -> dict[str, str | int]:
    """Whom a span says was called. Raises `ValueError` for what is no address."""
    address = URL(url)
    return {"server.address": address.host or "", "server.port": address.port or 0}


class AiohttpClient:
    """A pool of aiohttp's: `connections` at most, closed after `idle_s`, given up after `connect_s`."""

    def __init__(self, connections: int, idle_s: float, connect_s: float) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections, keepalive_timeout=idle_s, ssl=httpx.create_ssl_context()
            ),
            headers=_PLAIN,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = ()
    ) -> AsyncIterator[Response]:
        """As `HttpClient` has it."""
        sent = _Pieces(body) if body else None
        try:
            response = await self._session.request(
                method, url, headers=headers, data=sent, allow_redirects=False
            )
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _ours(error) from error
        async with response:
            yield _AiohttpResponse(response)


class _AiohttpResponse:
    __slots__ = ("_response", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers = response.headers

    async def pieces(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.content.iter_any():
                yield piece
        except aiohttp.ClientError as error:
            raise _ours(error) from error


class _Pieces(aiohttp.Payload):
    """A body that aiohttp writes without a copy of the photo in it."""

    _autoclose = True

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self._size = sum(map(len, body))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        for piece in self._value:
            await writer.write(piece)


def _ours(error: Exception) -> Exception:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return ConnectTimeoutError()
    if isinstance(error, aiohttp.ClientError):
        closed = isinstance(error, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError)
        unmade = isinstance(error, aiohttp.ClientConnectorError)
        return DisconnectedError() if closed and not unmade else ExchangeError()
    return error
