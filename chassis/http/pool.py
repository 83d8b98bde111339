"""HTTP/1.1 to other servers over kept connections: no redirects, no cookies, no proxies, nothing unpacked.

Ours and not a library's for what a call costs: docs/decisions/0020. llhttp reads the replies; it keeps a
header until it is whole and has no limit of its own, so bytes between two pieces of body are counted here.
"""

import asyncio
import base64
import re
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple, Self, cast

import httptools
import httpx

from chassis.http.client import (
    PORTS,
    Body,
    ConnectTimeoutError,
    DisconnectedError,
    ExchangeError,
    Response,
)

_MOST_HEAD_BYTES = 64 * 2**10
_MOST_UNREAD_BYTES = 256 * 2**10
_REFUSED = 400
_IDEMPOTENT = frozenset({"GET", "PUT", "DELETE"})
"""What may be sent again where a kept connection turns out to be closed (RFC 9110, 9.2.2)."""
_BREAKS_A_LINE = re.compile(r"[\r\n\0]")
_ALWAYS = "Accept: */*\r\nAccept-Encoding: identity\r\nUser-Agent: loreglass\r\n"
"""Nothing compressed is asked for or unpacked: a few bytes could become more than memory holds."""


class _Origin(NamedTuple):
    host: str
    port: int
    secure: bool


@lru_cache(1024)
def _address(url: str) -> tuple[_Origin, str]:
    """Whom to connect to, and a request's first lines after its method.

    Raises `ValueError` and `httpx.InvalidURL`.
    """
    address = httpx.URL(url)
    if address.scheme not in PORTS or not address.host:
        raise ValueError("This is no address of a server.")
    port = address.port or PORTS[address.scheme]
    origin = _Origin(address.raw_host.decode(), port, address.scheme == "https")
    lines = f" {address.raw_path.decode()} HTTP/1.1\r\nHost: {address.netloc.decode()}\r\n{_ALWAYS}"
    if address.userinfo:
        pair = f"{address.username}:{address.password}".encode()
        lines += f"Authorization: Basic {base64.b64encode(pair).decode()}\r\n"
    return origin, lines


class _Reply:
    """One reply as far as it has come. `status`: 0 before its head; `keeps`: another may follow it."""

    __slots__ = ("_connection", "_parts", "_waiter", "error", "headers", "heard", "keeps", "status", "whole")

    def __init__(self, connection: "_Connection") -> None:
        self._connection = connection
        self._parts: list[bytes] = []
        self._waiter: asyncio.Future[None] | None = None
        self.status = 0
        self.headers: dict[str, str] = {}
        self.error: ExchangeError | None = None
        self.heard = self.whole = self.keeps = False

    async def pieces(self) -> AsyncIterator[bytes]:
        """As `Response` has it."""
        while True:
            if self._parts:
                parts, self._parts = self._parts, []
                self._connection.read_on()
                for part in parts:
                    yield part
            elif self.whole:
                return
            else:
                await self._more()

    async def head(self) -> None:
        """Wait for it. Raises `ExchangeError`."""
        while not self.status:
            await self._more()

    def add(self, part: bytes) -> None:
        """Of its body."""
        self._parts.append(part)
        self.wake()

    def wake(self) -> None:
        """Somebody may wait for what has just come."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _more(self) -> None:
        if self.error is not None:
            raise self.error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class _SurplusError(Exception):
    """More came than one reply."""


class _Connection(asyncio.Protocol):
    """One connection; one exchange at a time. What comes unasked closes it."""

    def __init__(self) -> None:
        self.kept_at = 0.0
        self._transport = cast(asyncio.Transport, None)  # there before anybody has the connection
        self._parser = httptools.HttpResponseParser(self)
        self._reply: _Reply | None = None
        self._run = self._unread = 0
        self._paused = False

    @property
    def is_open(self) -> bool:
        return not self._transport.is_closing()

    def ask(self, head: bytes, body: Body) -> _Reply:
        """Send a request; its reply comes."""
        self._reply = reply = _Reply(self)
        self._run = 0
        if self.is_open:
            self._transport.writelines((head, *body))
        else:
            reply.error = DisconnectedError()
        return reply

    def settle(self) -> bool:
        """The exchange is over: whether there may be another. If not, the connection is closed."""
        reply, self._reply = self._reply, None
        if reply is not None and reply.whole and reply.keeps and self._has_sent(reply) and self.is_open:
            self.read_on()
            return True
        self.close()
        return False

    def _has_sent(self, reply: _Reply) -> bool:
        """Whether the whole request was written: some servers refuse before they have read it all.

        What TLS has still to send is not known: what the socket below it waits for is not told.
        """
        refused_over_tls = (
            reply.status >= _REFUSED and self._transport.get_extra_info("sslcontext") is not None
        )
        return not refused_over_tls and not self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._transport.abort()

    def read_on(self) -> None:
        """What has come is read."""
        self._unread = 0
        if self._paused and self.is_open:
            self._paused = False
            self._transport.resume_reading()

    # What the event loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        reply = self._reply
        if reply is None or reply.whole:
            self.close()
            return
        reply.heard = True
        self._run += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._break()
        else:
            if self._run > _MOST_HEAD_BYTES and not reply.whole:
                self._break()

    def connection_lost(self, exc: Exception | None) -> None:
        reply = self._reply
        if reply is None or reply.whole:
            return
        ends_here = not {"content-length", "transfer-encoding"} & reply.headers.keys()
        if exc is None and reply.status and ends_here:
            reply.whole = True
        elif reply.error is None:
            reply.error = ExchangeError() if reply.heard else DisconnectedError()
        reply.wake()

    def _break(self) -> None:
        if self._reply is not None and not self._reply.whole:
            self._reply.error = ExchangeError()
            self._reply.wake()
        self.close()

    # What the parser says

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply.whole:
            raise _SurplusError

    def on_header(self, name: bytes, value: bytes) -> None:
        assert self._reply is not None
        key, told = name.decode("latin-1").lower(), value.decode("latin-1")
        held = self._reply.headers
        held[key] = f"{held[key]}, {told}" if key in held else told

    def on_headers_complete(self) -> None:
        assert self._reply is not None
        status = self._parser.get_status_code()
        if status < 200:  # only that the reply will come
            self._reply.headers.clear()
            return
        self._reply.status = status
        self._reply.wake()

    def on_body(self, body: bytes) -> None:
        assert self._reply is not None
        self._run = 0
        self._unread += len(body)
        self._reply.add(body)
        if self._unread > _MOST_UNREAD_BYTES and not self._paused and self.is_open:
            self._paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        assert self._reply is not None
        if self._reply.status:
            self._reply.whole = True
            self._reply.keeps = self._parser.should_keep_alive()
            self._reply.wake()


class ConnectionPool:
    """An `HttpClient` of `most` exchanges at once. Connections are made within `connect_s`, kept `idle_s`."""

    def __init__(self, most: int, idle_s: float, connect_s: float) -> None:
        self._idle_s = idle_s
        self._connect_s = connect_s
        self._room = asyncio.Semaphore(most)
        self._kept: defaultdict[_Origin, list[_Connection]] = defaultdict(list)
        self._sweeping: asyncio.TimerHandle | None = None
        self._trusted: ssl.SSLContext | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connections in self._kept.values():
            for connection in connections:
                connection.close()
        await asyncio.sleep(0)  # for the event loop to let go of them

    @asynccontextmanager
    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: Body = ()
    ) -> AsyncIterator[Response]:
        """As `HttpClient` has it."""
        try:
            origin, lines = _address(url)
            head = _head(method + lines, headers, sum(map(len, body)) if method != "GET" else None)
        except (ValueError, httpx.InvalidURL) as error:
            raise ExchangeError from error
        async with self._room:
            connection, reply = await self._asked(origin, method in _IDEMPOTENT, head, body)
            try:
                yield reply
            finally:
                if connection.settle():
                    self._keep(origin, connection)

    async def _asked(
        self, origin: _Origin, repeatable: bool, head: bytes, body: Body
    ) -> tuple[_Connection, _Reply]:
        while True:
            kept = self._take(origin)
            connection = kept or await self._connect(origin)
            reply = connection.ask(head, body)
            try:
                await reply.head()
            except DisconnectedError as error:
                if kept is None:
                    raise ExchangeError from error
                if not repeatable:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return connection, reply

    async def _connect(self, origin: _Origin) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_s):
                trusted = await self._authorities() if origin.secure else None
                _, made = await loop.create_connection(_Connection, origin.host, origin.port, ssl=trusted)
        except TimeoutError as error:
            raise ConnectTimeoutError from error
        except (OSError, ValueError, OverflowError) as error:  # also for names and ports that are none
            raise ExchangeError from error
        return made

    async def _authorities(self) -> ssl.SSLContext:
        """Whom certificates are to be signed by; read once, and not on the event loop."""
        if self._trusted is None:
            self._trusted = await asyncio.to_thread(httpx.create_ssl_context)
        return self._trusted

    def _take(self, origin: _Origin) -> _Connection | None:
        """The one that was used last: the others may be let go."""
        connections = self._kept[origin]
        oldest = asyncio.get_running_loop().time() - self._idle_s
        while connections:
            connection = connections.pop()
            if connection.is_open and connection.kept_at > oldest:
                return connection
            connection.close()
        return None

    def _keep(self, origin: _Origin, connection: _Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.kept_at = loop.time()
        self._kept[origin].append(connection)
        if self._sweeping is None:
            self._sweeping = loop.call_later(self._idle_s, self._sweep)

    def _sweep(self) -> None:
        """Close what nobody has used for a while."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - self._idle_s
        for origin, connections in list(self._kept.items()):
            for connection in connections:
                if connection.kept_at <= oldest:
                    connection.close()
            self._kept[origin] = [each for each in connections if each.is_open]
            if not self._kept[origin]:
                del self._kept[origin]
        self._sweeping = loop.call_later(self._idle_s, self._sweep) if self._kept else None


def _head(first: str, headers: Mapping[str, str], length: int | None) -> bytes:
    """Raises `ValueError` for a header that is more than one."""
    given = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if len(_BREAKS_A_LINE.findall(given)) != 2 * len(headers):
        raise ValueError("A header's value breaks its line.")
    sized = "" if length is None else f"Content-Length: {length}\r\n"
    return f"{first}{given}{sized}\r\n".encode()
