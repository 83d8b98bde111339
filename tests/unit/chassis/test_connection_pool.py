"""The connection pool before servers that are slow, broken or hostile: bytes on real sockets."""

import asyncio
import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from chassis.http.client import (
    ConnectTimeoutError,
    DisconnectedError,
    ExchangeError,
    ResponseTooLargeError,
    whole,
)
from chassis.http.pool import ConnectionPool

pytestmark = pytest.mark.anyio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Talk = Callable[[SocketStream, bytes], Awaitable[None]]
"""What a server does with a request of one connection, given its bytes."""
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What a server does with a connection."""


class Server:
    """Gives `talk` each request whose head ends in the bytes that came; counts `connections`."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.connections = 0
        self.heads: list[bytes] = []
        self.closed = anyio.Event()
        self.url = ""

    async def handle(self, stream: SocketStream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    came = await stream.receive()
                    self.heads.append(came)
                    await self._talk(stream, came)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self.closed.set()


@asynccontextmanager
async def serving(talk: Talk) -> AsyncIterator[Server]:
    server = Server(talk)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.handle)
            yield server
            group.cancel_scope.cancel()


def pool(most: int = 10, idle_s: float = 60.0, connect_s: float = 20.0) -> ConnectionPool:
    return ConnectionPool(most, idle_s, connect_s)


def saying(*replies: bytes) -> Talk:
    """Says one after the other, and the last one for ever."""
    left = list(replies)

    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(left.pop(0) if len(left) > 1 else left[0])

    return talk


async def ask(
    http: ConnectionPool, url: str, method: str = "POST", body: tuple[bytes, ...] = (b"{}",), most: int = 1000
) -> tuple[int, bytes]:
    async with http.exchange(method, url, {}, body) as response:
        return response.status, await whole(response, most)


async def test_one_connection_serves_one_call_after_the_other() -> None:
    async with serving(saying(OK)) as server, pool() as http:
        assert [await ask(http, server.url) for _ in range(5)] == [(200, b"ok")] * 5
    assert server.connections == 1


async def test_calls_at_once_have_a_connection_each_and_no_more_than_allowed() -> None:
    inside, most = 0, 0

    async def talk(stream: SocketStream, _: bytes) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await anyio.lowlevel.checkpoint()
        inside -= 1
        await stream.send(OK)

    async with serving(talk) as server, pool(most=3) as http, anyio.create_task_group() as group:
        for _ in range(12):
            group.start_soon(ask, http, server.url)
    assert server.connections <= 3
    assert most <= 3


async def test_a_body_in_pieces_arrives_in_order_and_whole() -> None:
    seen = bytearray()
    photo = bytes(range(256)) * 8_000

    async def talk(stream: SocketStream, came: bytes) -> None:
        seen.extend(came)
        if len(seen.partition(b"\r\n\r\n")[2]) == len(photo) + 4:
            await stream.send(OK)

    async with serving(talk) as server, pool() as http:
        await ask(http, server.url + "/v1/ocr?k=1", body=(b"<<", photo, b">>"))
    head, _, body = seen.partition(b"\r\n\r\n")
    assert bytes(body) == b"<<" + photo + b">>"
    assert head.startswith(b"POST /v1/ocr?k=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nContent-Length: 2048004" in head
    assert b"\r\nAccept-Encoding: identity\r\n" in head


async def test_a_connection_that_rested_too_long_is_not_used_again() -> None:
    async with serving(saying(OK)) as server, pool(idle_s=0.0) as http:
        for _ in range(3):
            await ask(http, server.url)
    assert server.connections == 3


async def test_a_connection_that_nobody_uses_is_closed() -> None:
    async with serving(saying(OK)) as server, pool(idle_s=0.01) as http:
        await ask(http, server.url)
        with anyio.fail_after(20):
            await server.closed.wait()


@pytest.mark.parametrize(
    "first",
    [
        OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        OK + b"\x00garbage",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
    ids=["a second reply", "noise behind it", "says it closes", "HTTP/1.0"],
)
async def test_a_connection_whose_reply_was_not_its_last_word_serves_nobody_else(first: bytes) -> None:
    async with serving(saying(first, OK)) as server, pool() as http:
        assert [await ask(http, server.url) for _ in range(2)] == [(200, b"ok")] * 2
    assert server.connections == 2


async def test_what_is_said_unasked_closes_a_kept_connection() -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(OK)
        await read.wait()
        await stream.send(b"HTTP/1.1 408 Too slow\r\nContent-Length: 0\r\n\r\n")

    read = anyio.Event()
    async with serving(talk) as server, pool() as http:
        assert await ask(http, server.url) == (200, b"ok")
        read.set()
        with anyio.fail_after(20):
            await server.closed.wait()
        assert await ask(http, server.url) == (200, b"ok")
    assert server.connections == 2


async def gone(stream: SocketStream, _: bytes) -> None:
    await stream.aclose()


@pytest.mark.parametrize(("method", "raises"), [("GET", False), ("PUT", False), ("POST", True)])
async def test_only_what_may_be_done_twice_is_sent_again_over_a_new_connection(
    method: str, raises: bool
) -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        if server.connections == 1 and len(server.heads) == 2:
            await stream.aclose()
        else:
            await stream.send(OK)

    async with serving(talk) as server, pool() as http:
        await ask(http, server.url)
        if raises:
            with pytest.raises(DisconnectedError):
                await ask(http, server.url, method)
        else:
            assert await ask(http, server.url, method) == (200, b"ok")
    assert len(server.heads) == (2 if raises else 3)


async def test_a_server_that_always_hangs_up_is_not_asked_for_ever() -> None:
    async with serving(gone) as server, pool() as http:
        with pytest.raises(ExchangeError) as told:
            await ask(http, server.url, "GET")
    assert not isinstance(told.value, DisconnectedError), "it was no kept connection"
    assert server.connections == 1


@pytest.mark.parametrize(
    "words",
    [
        b"\x16\x03\x01 hello\r\n\r\n",
        b"HTTP/1.1 banana OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
async def test_a_reply_that_is_broken_or_broken_off_is_an_error(words: bytes) -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(words)
        await stream.aclose()

    async with serving(talk) as server, pool() as http:
        with anyio.fail_after(20), pytest.raises(ExchangeError):
            await ask(http, server.url)


@pytest.mark.parametrize(
    ("head", "endless"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 60_000),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 10_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * 60_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 10_000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000),
    ],
    ids=["a header", "headers", "a chunk's extension", "trailers", "promises"],
)
async def test_a_head_without_end_is_left(head: bytes, endless: bytes) -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(head)
        while True:
            await stream.send(endless)

    async with serving(talk) as server, pool() as http:
        with anyio.fail_after(20), pytest.raises(ExchangeError):
            await ask(http, server.url)
        await server.closed.wait()


async def test_a_body_that_ends_with_its_connection_is_whole() -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\n\r\nso far")
        await stream.send(b" so good")
        await stream.aclose()

    async with serving(talk) as server, pool() as http:
        assert await ask(http, server.url) == (200, b"so far so good")


async def test_what_only_announces_the_reply_is_passed_over() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nX-From: hints\r\n\r\n"
    async with serving(saying(early + OK)) as server, pool() as http:
        for _ in range(2):
            async with http.exchange("POST", server.url, {}, [b"x"]) as response:
                assert response.status == 200
                assert "x-from" not in response.headers
                assert await whole(response, 10) == b"ok"
    assert server.connections == 1


async def test_headers_are_found_in_any_case_and_repeated_ones_together() -> None:
    told = b"HTTP/1.1 200 OK\r\nRETRY-After: 7\r\nVia: a\r\nvia: b\r\nContent-Length: 0\r\n\r\n"
    async with (
        serving(saying(told)) as server,
        pool() as http,
        http.exchange("GET", server.url, {}) as response,
    ):
        assert response.headers["retry-after"] == "7"
        assert response.headers["via"] == "a, b"


async def test_a_reply_that_is_larger_than_wanted_is_left_unread() -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n")
        while True:
            await stream.send(b"x" * 60_000)

    async with serving(talk) as server, pool() as http:
        with anyio.fail_after(20), pytest.raises(ResponseTooLargeError):
            await ask(http, server.url, most=2**20)
        with anyio.fail_after(20):
            await server.closed.wait()


async def test_a_reply_that_nobody_reads_on_is_not_taken_into_memory() -> None:
    sent = 0

    async def talk(stream: SocketStream, _: bytes) -> None:
        nonlocal sent
        await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await stream.send(b"x" * 2**20)
            sent += 2**20

    async with serving(talk) as server, pool() as http, http.exchange("GET", server.url, {}) as response:
        stuck_at = -1
        with anyio.fail_after(20):
            while stuck_at != sent:  # until the server can send no more
                stuck_at = sent
                await anyio.wait_all_tasks_blocked()
        pieces = response.pieces()
        read = 0
        while read <= stuck_at:  # and once somebody reads, it goes on
            read += len(await anext(pieces))


async def test_leaving_closes_the_connection() -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    async with serving(talk) as server, pool() as http:
        async with http.exchange("POST", server.url, {}, [b"{}"]) as response:
            assert response.status == 200
        with anyio.fail_after(20):
            await server.closed.wait()


async def test_being_cancelled_before_the_reply_closes_the_connection() -> None:
    asked = anyio.Event()

    async def talk(_: SocketStream, came: bytes) -> None:
        asked.set()

    async with serving(talk) as server, pool() as http:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, http, server.url)
            await asked.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            await server.closed.wait()


async def test_a_reply_before_the_request_is_read_ends_the_connection() -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(b"HTTP/1.1 413 Too large\r\nContent-Length: 2\r\n\r\nno")
        await anyio.sleep_forever()

    async with serving(talk) as server, pool() as http:
        large = (b"x" * 50_000_000,)
        assert await ask(http, server.url, body=large) == (413, b"no")
        assert await ask(http, server.url, body=large) == (413, b"no")
    assert server.connections == 2


async def test_a_server_that_takes_no_connections_is_told_from_one_that_is_slow() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as first:
        first.connect(full.getsockname())
        with socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(full.getsockname())
            async with pool(connect_s=0.05) as http:
                with pytest.raises(ConnectTimeoutError):
                    await ask(http, f"http://127.0.0.1:{full.getsockname()[1]}")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "ftp://127.0.0.1/",
        "http://",
        "http://127.0.0.1:99999/",
        f"http://{'a' * 300}.invalid/",
        "http://no-such-host.invalid/",
    ],
)
async def test_an_address_of_nobody_is_an_error(url: str) -> None:
    async with pool() as http:
        with pytest.raises(ExchangeError):
            await ask(http, url)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b"])
async def test_a_header_cannot_hold_another(value: str) -> None:
    async with serving(saying(OK)) as server, pool() as http:
        with pytest.raises(ExchangeError):
            async with http.exchange("GET", server.url, {"X-Trace": value}):
                pass
    assert server.heads == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of 127.0.0.1, signed by itself, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    named = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    kind = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    subprocess.run([openssl, *kind, *named, "-keyout", path, "-out", path], check=True, capture_output=True)
    return path


async def tells_much(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(2**16):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
    writer.close()


@asynccontextmanager
async def tls_server(certificate: Path, handle: Handle = tells_much) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    async with server:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_server_with_a_certificate_that_is_trusted_is_called_over_tls(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with tls_server(certificate) as url, pool() as http:
        for _ in range(2):
            assert await ask(http, url, most=300_000) == (200, b"x" * 300_000)


async def test_a_reply_before_the_request_is_read_ends_a_connection_over_tls(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)
        writer.write(b"HTTP/1.1 413 Too large\r\nContent-Length: 2\r\n\r\nno")
        await ended.wait()
        writer.transport.abort()

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    ended, large = asyncio.Event(), (b"x" * 20_000_000,)
    async with tls_server(certificate, refuse) as url, pool() as http:
        for _ in range(2):
            with anyio.fail_after(60):
                assert await ask(http, url, body=large) == (413, b"no")
        ended.set()


async def test_a_server_whose_certificate_nobody_vouches_for_is_not_asked(certificate: Path) -> None:
    async with tls_server(certificate) as url, pool() as http:
        with pytest.raises(ExchangeError):
            await ask(http, url)


async def test_an_address_cannot_hold_a_header() -> None:
    async with serving(saying(OK)) as server, pool() as http:
        with pytest.raises(ExchangeError):
            await ask(http, f"{server.url}/a\r\nX-Evil: 1", "GET")
        await ask(http, f"{server.url}/a b/ü", "GET")
    assert server.heads[0].startswith(b"GET /a%20b/%C3%BC HTTP/1.1\r\n")


async def test_what_an_address_says_of_its_caller_is_sent_as_credentials() -> None:
    async with serving(saying(OK)) as server, pool() as http:
        await ask(http, server.url.replace("//", "//me:p%40ss@"), "GET")
    assert b"\r\nAuthorization: Basic bWU6cEBzcw==\r\n" in server.heads[0]
    assert b"me:" not in server.heads[0]
