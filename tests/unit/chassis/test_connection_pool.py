"""The connection pool with servers that are slow, broken or hostile: bytes on real sockets."""

import asyncio
import gzip
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.abc import SocketAttribute, SocketStream

from chassis.http.client import (
    ConnectTimeoutError,
    DisconnectedError,
    ExchangeError,
    HttpClient,
    ResponseTooLargeError,
    connection_pool,
    whole,
)
from chassis.http.tls import server_context
from deploy.lan import MachineNames, OwnCertificate

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Reply = Callable[[SocketStream, bytes], Awaitable[None]]
"""What a server does with a request, given its first bytes."""


class Server:
    """Calls `reply` for the bytes of each request; counts `connections`."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self.connections = 0
        self.requests: list[bytes] = []
        self.closed = anyio.Event()
        self.url = ""

    async def handle(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    request = await stream.receive()
                    self.requests.append(request)
                    await self._reply(stream, request)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.closed.set()


@asynccontextmanager
async def serving(reply: Reply) -> AsyncIterator[Server]:
    server = Server(reply)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.handle)
            yield server
            group.cancel_scope.cancel()


def pool(idle_s: float = 60.0, connect_s: float = 20.0) -> AbstractAsyncContextManager[HttpClient]:
    return connection_pool(10, idle_s, connect_s)


def replying(*replies: bytes) -> Reply:
    """Send one reply after the other, then the last one again and again."""
    left = list(replies)

    async def reply(stream: SocketStream, _: bytes) -> None:
        await stream.send(left.pop(0) if len(left) > 1 else left[0])

    return reply


def endless(head: bytes, more: bytes) -> Reply:
    """Send `head`, then `more` for ever."""

    async def reply(stream: SocketStream, _: bytes) -> None:
        await stream.send(head)
        while True:
            await stream.send(more)

    return reply


async def send(
    http: HttpClient, url: str, method: str = "POST", body: bytes = b"{}", most: int = 1000
) -> tuple[int, bytes]:
    async with http.exchange(method, url, {}, body) as response:
        return response.status, await whole(response, most)


async def test_large_body_arrives_complete_without_compression() -> None:
    received = bytearray()
    photo = bytes(range(256)) * 8_000

    async def reply(stream: SocketStream, data: bytes) -> None:
        received.extend(data)
        if len(received.partition(b"\r\n\r\n")[2]) == len(photo):
            await stream.send(OK)

    async with serving(reply) as server, pool() as http:
        await send(http, server.url + "/v1/ocr?k=1", body=photo)
    head, _, body = received.partition(b"\r\n\r\n")
    assert bytes(body) == photo
    assert head.startswith(b"POST /v1/ocr?k=1 HTTP/1.1\r\n")
    assert b"\r\nContent-Length: 2048000" in head
    assert b"\r\nAccept-Encoding: identity\r\n" in head


async def test_compression_redirects_and_cookies_are_ignored() -> None:
    packed = gzip.compress(b"x" * 2**20)
    head = "HTTP/1.1 302 Found\r\nLocation: /\r\nSet-Cookie: a=b\r\nContent-Encoding: gzip\r\n"
    redirect = f"{head}Content-Length: {len(packed)}\r\n\r\n".encode() + packed
    async with serving(replying(redirect)) as server, pool() as http:
        for _ in range(2):
            assert await send(http, server.url, "GET", most=10_000) == (302, packed)
    assert len(server.requests) == 2
    assert b"Cookie" not in server.requests[1]


async def test_an_idle_connection_is_closed() -> None:
    async with serving(replying(OK)) as server, pool(idle_s=0.01) as http:
        await send(http, server.url)
        with anyio.fail_after(20):
            await server.closed.wait()


async def test_unexpected_second_reply_is_discarded() -> None:
    async with serving(replying(OK + OK.replace(b"ok", b"no"), OK)) as server, pool() as http:
        assert [await send(http, server.url) for _ in range(2)] == [(200, b"ok")] * 2
    assert server.connections == 2


@pytest.mark.parametrize(("method", "raises"), [("GET", False), ("PUT", False), ("POST", True)])
async def test_idempotent_requests_alone_are_resent_on_a_closed_connection(method: str, raises: bool) -> None:
    async def reply(stream: SocketStream, _: bytes) -> None:
        if server.connections == 1 and len(server.requests) == 2:
            await stream.aclose()
        else:
            await stream.send(OK)

    async with serving(reply) as server, pool() as http:
        await send(http, server.url)
        if raises:
            with pytest.raises(DisconnectedError):
                await send(http, server.url, method)
        else:
            assert await send(http, server.url, method) == (200, b"ok")
    assert len(server.requests) == (2 if raises else 3)


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"\x16\x03\x01 hello\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
)
async def test_a_broken_or_incomplete_reply_is_an_error(words: bytes) -> None:
    async def reply(stream: SocketStream, _: bytes) -> None:
        await stream.send(words)
        await stream.aclose()

    async with serving(reply) as server, pool() as http:
        with anyio.fail_after(20), pytest.raises(ExchangeError) as failure:
            await send(http, server.url)
    assert not isinstance(failure.value, DisconnectedError), "the connection was not idle"
    assert server.connections == 1


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("head", "more", "error"),
    [
        (HEAD + b"X: ", b"y" * 60_000, ExchangeError),
        (HEAD, b"X: y\r\n" * 10_000, ExchangeError),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 10_000, ExchangeError),
        (HEAD + b"Content-Length: 100000000000\r\n\r\n", b"x" * 60_000, ResponseTooLargeError),
    ],
    ids=["a header", "headers", "trailers", "a body"],
)
async def test_endless_reply_is_an_error(head: bytes, more: bytes, error: type[Exception]) -> None:
    async with serving(endless(head, more)) as server, pool() as http:
        with anyio.fail_after(20):
            with pytest.raises(error):
                await send(http, server.url, most=2**20)
            await server.closed.wait()


async def test_unread_reply_is_not_buffered() -> None:
    sent = 0

    async def reply(stream: SocketStream, _: bytes) -> None:
        nonlocal sent
        await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await stream.send(b"x" * 2**20)
            sent += 2**20

    async with serving(reply) as server, pool() as http, http.exchange("GET", server.url, {}) as response:
        stuck_at = -1
        with anyio.fail_after(20):
            while stuck_at != sent:  # until the server can send no more
                stuck_at = sent
                await anyio.wait_all_tasks_blocked()
        pieces = response.pieces()
        read = 0
        while read <= stuck_at:  # and once the caller reads, it goes on
            read += len(await anext(pieces))


async def test_cancellation_closes_the_connection_to_a_server_that_does_not_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as stuck:
        async with pool() as http, anyio.create_task_group() as group:
            url = f"http://127.0.0.1:{stuck.getsockname()[1]}"
            group.start_soon(lambda: send(http, url, body=b"x" * 50_000_000))
            connection, _ = await anyio.to_thread.run_sync(stuck.accept)
            with connection:
                await anyio.to_thread.run_sync(connection.recv, 1)
                open_files = len(os.listdir("/proc/self/fd"))
                group.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await anyio.wait_all_tasks_blocked()
                assert len(os.listdir("/proc/self/fd")) == open_files - 1


async def test_a_reply_before_the_request_is_read_ends_the_connection() -> None:
    async def reply(stream: SocketStream, _: bytes) -> None:
        await stream.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 2\r\n\r\nno")
        await anyio.sleep_forever()

    async with serving(reply) as server, pool() as http:
        large = b"x" * 50_000_000
        for _ in range(2):
            with anyio.fail_after(20):
                assert await send(http, server.url, body=large) == (413, b"no")
    assert server.connections == 2


async def test_a_server_that_accepts_no_connections_is_a_connect_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as first:
        first.connect(full.getsockname())
        with socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(full.getsockname())
            async with pool(connect_s=0.05) as http:
                with pytest.raises(ConnectTimeoutError):
                    await send(http, f"http://127.0.0.1:{full.getsockname()[1]}")


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:80", "ftp://127.0.0.1/", "http://", "http://127.0.0.1:99999/", "http://no.invalid/"],
)
async def test_an_unusable_address_is_an_error(url: str) -> None:
    async with pool() as http:
        with pytest.raises(ExchangeError):
            await send(http, url)


async def test_header_injection_is_refused() -> None:
    async with serving(replying(OK)) as server, pool() as http:
        with pytest.raises(ExchangeError):
            async with http.exchange("GET", server.url, {"X-Trace": "a\r\nX-Evil: 1"}):
                pass
        await send(http, f"{server.url}/a b/ü\r\nX-Evil: 1", "GET")
    assert len(server.requests) == 1
    assert server.requests[0].startswith(b"GET /a%20b/%C3%BCX-Evil:%201 HTTP/1.1\r\n")


@pytest.mark.parametrize("trusted", [True, False])
async def test_untrusted_tls_certificate_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    certificate = OwnCertificate(
        tmp_path, lambda: datetime.now(UTC), lambda: MachineNames(("localhost",), ("127.0.0.1",))
    )
    certificate.renew()
    context = server_context()
    certificate.load_into(context)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(2**16):
            requests.append(1)
            writer.write(OK)
        writer.close()

    requests: list[int] = []
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context) as server, pool() as http:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        if trusted:
            assert await send(http, url) == (200, b"ok")
        else:
            with pytest.raises(ExchangeError):
                await send(http, url)
    assert len(requests) == trusted
