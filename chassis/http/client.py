"""The HTTP client of a process: aiohttp without redirects, cookies, proxies and decompression.

aiohttp limits headers to 128 lines of 8 KiB, and reads no further while 128 KiB of a body are unread.
"""

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler

_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "loreglass"}
"""Compressed replies are neither requested nor unpacked: a few bytes could fill the memory."""
_MOST_AT_ONCE = 2**20
"""Bytes of a request that are written at once. A larger body is written as the server reads it."""
_PORTS = {"http": 80, "https": 443}
"""Default ports."""

_REUSED: ContextVar[bool] = ContextVar("reused")
"""True if the current exchange's connection was used before."""


class ExchangeError(Exception):
    """The exchange failed. The server may have executed the request."""


class ConnectTimeoutError(ExchangeError):
    """The server does not accept connections: the request was not sent."""


class DisconnectedError(ExchangeError):
    """The server closed an idle connection and did not reply. It may have executed the request."""


class ResponseTooLargeError(Exception):
    """The body has more bytes than the caller accepts."""


class _Connection(ResponseHandler):
    """A connection that is closed without sending the rest, and not reused after an unrequested reply."""

    _used = False

    def set_response_params(self, **parameters: Any) -> None:
        """Begin an exchange."""
        _REUSED.set(self._used)
        self._used = True
        super().set_response_params(**parameters)

    def is_connected(self) -> bool:
        """Return whether a request can be sent."""
        return super().is_connected() and not self.should_close

    def close(self) -> None:
        """Close at once: a server that does not read would keep the socket open."""
        self.abort()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server with OpenAI's API. `base_url` with or without `/v1`; `name`: in messages.

    `model`: as `GET /v1/models` names it; empty: the server's choice. `context`: the tokens that prompts are
    fitted to; 0: they are not.
    """

    base_url: str
    model: str = ""
    key: str = field(default="", repr=False)
    name: str = "the vision-language model"
    context: int = 0

    def __post_init__(self) -> None:
        """Raises `ValueError` for what could never be sent."""
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError(f"The address of {self.name} must begin with http:// or https://.")
        if not (self.key.isascii() and self.key.isprintable()):
            raise ValueError(f"The key of {self.name} may hold printable ASCII characters only.")

    @property
    def root(self) -> str:
        """The address of the server's own API, which has routes beside `/v1`."""
        return self.base_url.rstrip("/").removesuffix("/v1")

    def url(self, path: str) -> str:
        return f"{self.root}/v1{path}"

    @property
    def authorization(self) -> dict[str, str]:
        """The header with the key, if there is one."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}


class Response:
    """A reply whose headers have arrived; their names are looked up in lower case."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._content = response.content

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises `ExchangeError`."""
        try:
            async for piece in self._content.iter_any():
                yield piece
        except (aiohttp.ClientError, OSError) as error:
            raise ExchangeError from error


class HttpClient:
    """The seam between us and the network; `connection_pool` opens it."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._authorities: ssl.SSLContext | None = None

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[Response]:
        """Send the request and yield the reply once its headers arrived. Leaving early closes the connection.

        Raises `ExchangeError`. Only connecting has a time limit here; callers set their own for the rest.
        """
        _REUSED.set(False)
        try:
            response = await self._session.request(
                method,
                url,
                headers=headers,
                data=io.BytesIO(body) if len(body) > _MOST_AT_ONCE else body or None,
                ssl=await self._tls_context() if url.startswith("https:") else True,
                allow_redirects=False,
            )
        except aiohttp.ConnectionTimeoutError as error:
            raise ConnectTimeoutError from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            is_lost = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
            raise DisconnectedError if is_lost and _REUSED.get() else ExchangeError from error
        async with response:
            if response.status < 200:
                raise ExchangeError  # 101: another protocol
            yield Response(response)

    async def _tls_context(self) -> ssl.SSLContext:
        """Return the trusted certificate authorities, read once and not on the event loop."""
        if self._authorities is None:
            self._authorities = await asyncio.to_thread(httpx.create_ssl_context)
        return self._authorities


@asynccontextmanager
async def connection_pool(most: int, idle_s: float, connect_s: float) -> AsyncIterator[HttpClient]:
    """Open a client of `most` exchanges at once. Connections are made within `connect_s`, kept `idle_s`."""
    connector = aiohttp.TCPConnector(limit=most, keepalive_timeout=idle_s, use_dns_cache=False)
    new_connection: Callable[..., ResponseHandler] = _Connection
    connector._factory = partial(new_connection, loop=asyncio.get_running_loop())
    async with aiohttp.ClientSession(
        connector=connector,
        headers=_HEADERS,
        skip_auto_headers=["Content-Type"],
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(connect=connect_s),
    ) as session:
        yield HttpClient(session)


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
