"""What one connection may send, and for how long: raw bytes against the real server, on invented time."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx
import pytest
from anyio.abc import SocketStream

from chassis.http.connections import Connections
from chassis.settings import AppSettings
from tests.live import live
from tests.unit.chassis.apps import Witness, kind_of, probe_app, until
from tests.wire import connection, head, read_reply

SETTINGS = AppSettings(max_body_bytes=100_000, max_header_bytes=4096, header_timeout_s=10, min_body_rate=100)


@dataclass(frozen=True)
class Probe:
    """An app that is up, what it has seen, and the register of its connections."""

    client: httpx.AsyncClient
    witness: Witness
    register: Connections

    @property
    def url(self) -> str:
        return str(self.client.base_url)

    async def connections(self, number: int) -> None:
        """Return once so many are open, the test's own clients left out."""
        await until(lambda: len(self.register) == number)

    def refused(self, reason: str) -> float:
        return self.witness.metric("loreglass_connections_refused_total", f'reason="{reason}",')


@asynccontextmanager
async def probe(settings: AppSettings = SETTINGS) -> AsyncIterator[Probe]:
    witness = Witness()
    app = probe_app(witness, settings)
    async with live(app) as client:
        yield Probe(client, witness, app.state.connections)


@pytest.fixture
async def server() -> AsyncIterator[Probe]:
    async with probe() as made:
        yield made


async def flood(url: str, first: bytes, piece: bytes, times: int) -> tuple[int, str]:
    """The refusal of what never ends: `piece` after `piece`, until the server answers or `times` are sent."""
    async with connection(url) as stream:
        try:
            await stream.send(first)
            for _ in range(times):
                await stream.send(piece)
        except anyio.BrokenResourceError:
            pass  # it reads no more
        with anyio.fail_after(20):
            reply = await read_reply(stream)
        assert reply.headers["connection"] == "close"
        return kind_of(reply)


async def read_to_end(stream: SocketStream) -> bytes:
    """Return what the server says until it closes."""
    received = b""
    with anyio.fail_after(20):
        try:
            while True:
                received += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return received


CHUNKED = head("POST", "/length", Transfer_Encoding="chunked")


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"GET /remaining HTTP/1.1\r\n", b"a:b\r\n" * 1000),
        (b"GET /remaining HTTP/1.1\r\na: ", b"x" * 5000),
        (b"GET /remaining HTTP/1.1\r\n", b"x" * 5000),
        (CHUNKED + b"1;", b"x" * 5000),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"a:b\r\n" * 1000),
        (CHUNKED + b"1\r\nx\r\n0\r\na: ", b"x" * 5000),
    ],
    ids=["lines", "value", "name", "chunk-extension", "trailer-lines", "trailer-value"],
)
async def test_endless_headers_are_refused(server: Probe, first: bytes, piece: bytes) -> None:
    assert await flood(server.url, first, piece, 100) == (431, "headers_too_large")
    assert server.witness.ran == []
    assert server.refused("headers_too_large") == 1


async def test_complete_oversized_header_is_refused(server: Probe) -> None:
    large, many = {"a": "x" * 5000}, {f"a{place}": "b" for place in range(100)}
    for given in (large, many):
        reply = await server.client.get("/remaining", headers=given)
        assert reply.status_code == 431
    usual = {f"a{place}": "x" * 30 for place in range(60)}
    assert (await server.client.get("/remaining", headers=usual)).status_code == 200


@pytest.mark.parametrize("piece", [b"x" * 9000, b"x" * 3000])
async def test_endless_request_target_is_refused(piece: bytes) -> None:
    async with probe(AppSettings(max_header_bytes=32 * 2**10)) as server:
        assert await flood(server.url, b"GET /", piece, 100) == (414, "uri_too_long")


@pytest.mark.parametrize(
    "sent",
    [
        b"no request at all\r\n\r\n",
        b"GET /remaining HTTP/9.9\r\n\r\n",
        head("POST", "/length", Content_Length="-1"),
        b"POST /length HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        head("POST", "/length", Content_Length=5, Transfer_Encoding="chunked"),
        CHUNKED + b"not hexadecimal\r\n",
    ],
)
async def test_malformed_http_gets_a_problem_reply(server: Probe, sent: bytes) -> None:
    async with connection(server.url) as stream:
        await stream.send(sent)
        assert kind_of(await read_reply(stream)) == (400, "malformed_request")
        await read_to_end(stream)
    assert server.witness.ran == []


async def test_trailers_are_not_headers(server: Probe) -> None:
    async with connection(server.url) as stream:
        sent = head("POST", "/headers", Transfer_Encoding="chunked")
        await stream.send(sent + b"1\r\nx\r\n0\r\nAuthorization: Bearer a\r\n\r\n")
        assert (await read_reply(stream)).json() == ["host", "transfer-encoding"]


async def test_limits_count_each_request_separately(server: Probe) -> None:
    first = head("POST", "/length", Content_Length=20_000) + b"x" * 20_000
    second = head("GET", "/remaining", A="b" * 3000)
    async with connection(server.url) as stream:
        await stream.send(first + second * 3 + second[:-1])
        received = b""
        with anyio.fail_after(20):
            while received.count(b'"bytes"') + received.count(b'"ms"') < 4:
                received += await stream.receive()
        assert received.count(b"HTTP/1.1 200 OK") == 4
        await stream.send(second[-1:])
        assert (await read_reply(stream)).status == 200


async def test_protocol_upgrade_is_ignored(server: Probe) -> None:
    async with connection(server.url) as stream:
        wanted = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": 13}
        await stream.send(head("GET", "/remaining", Sec_WebSocket_Key="A" * 22 + "==", **wanted))
        assert (await read_reply(stream)).status == 200


async def test_pipelined_requests_are_limited(
    server: Probe,
) -> None:
    async with connection(server.url) as stream:
        await stream.send((head("POST", "/length", Content_Length=1) + b"x") * 1000)
        received = await read_to_end(stream)
    assert 1 <= received.count(b"HTTP/1.1 200 OK") <= 17


@pytest.mark.parametrize("sent", [b"", b"GET /remaining HT", b"GET /remaining HTTP/1.1\r\nHost: a\r\nb: "])
async def test_incomplete_request_times_out(server: Probe, sent: bytes) -> None:
    async with connection(server.url) as stream:
        await stream.send(sent)
        await server.connections(1)
        await anyio.wait_all_tasks_blocked()
        while server.register and not server.register.watch(4):
            await anyio.sleep(0.01)
            if sent and await _has_answered(stream):
                break
        await read_to_end(stream)


async def _has_answered(stream: SocketStream) -> bool:
    with anyio.move_on_after(0.05):
        assert kind_of(await read_reply(stream)) == (408, "request_timeout")
        return True
    return False


async def test_headers_within_the_timeout_are_accepted(server: Probe) -> None:
    async with connection(server.url) as stream:
        await stream.send(b"GET /remaining HTTP/1.1\r\n")
        await server.connections(1)
        server.register.watch(9)
        await stream.send(b"Host: a\r\n\r\n")
        assert (await read_reply(stream)).status == 200
        server.register.watch(60)
        await stream.send(head("GET", "/remaining"))
        assert (await read_reply(stream)).status == 200


async def test_line_breaks_do_not_extend_the_idle_timeout(
    server: Probe,
) -> None:
    async with connection(server.url) as stream:
        await stream.send(head("GET", "/remaining"))
        await read_reply(stream)
        for _ in range(3):
            await stream.send(b"\r\n")
            server.register.watch(26)
        await read_to_end(stream)


async def test_slow_body_is_refused_and_its_work_cancelled(server: Probe) -> None:
    async with connection(server.url) as stream:
        await stream.send(head("POST", "/length", Content_Length=50_000) + b"x" * 2_000)
        await server.witness.in_work(1)
        server.register.watch(10)  # 2,000 bytes in this window, more than 100 a second
        await stream.send(b"x")
        await anyio.sleep(0.05)
        server.register.watch(10)
        assert kind_of(await read_reply(stream)) == (408, "request_timeout")
    assert server.witness.ran == []
    assert server.refused("request_timeout") == 1


async def test_slow_work_is_not_a_slow_body(server: Probe) -> None:
    async with connection(server.url) as stream:
        await stream.send(head("POST", "/hang", Content_Length=2, X_Deadline_Ms=900) + b"{}")
        await server.witness.started.wait()
        for _ in range(10):
            server.register.watch(10)
        assert (await read_reply(stream)).status == 504


async def test_connection_with_an_unread_reply_is_closed() -> None:
    """Far more than the kernel's own buffers take: what is left stays with the server."""
    async with probe(AppSettings()) as server, connection(server.url) as stream:
        await stream.send(head("GET", "/much"))
        await server.connections(1)
        with anyio.fail_after(20):
            while len(server.register):
                server.register.watch(10)
                await anyio.sleep(0.02)
    assert server.refused("unread_reply") == 1


async def test_idle_connections_are_closed_for_new_ones() -> None:
    async with probe(AppSettings(max_connections=8)) as server, AsyncExitStack() as resting:
        for _ in range(40):
            await resting.enter_async_context(connection(server.url))
        assert (await server.client.get("/remaining")).status_code == 200
        assert len(server.register) <= 8
        assert server.refused("gave_way") >= 32


@pytest.mark.parametrize("share", [1.0, 0.5])
async def test_refused_connections_do_not_evict_others(share: float) -> None:
    most = int(4 / share)
    settings = AppSettings(max_connections=most, max_share_per_address=share)
    async with probe(settings) as server, AsyncExitStack() as opened:
        for _ in range(4):
            stream = await opened.enter_async_context(connection(server.url))
            await stream.send(head("POST", "/hang", Content_Length=2) + b"{}")
        await server.witness.in_work(4)
        for _ in range(20):
            stream = await opened.enter_async_context(connection(server.url))
            assert kind_of(await read_reply(stream)) == (503, "overloaded")
            assert len(server.register) == 5  # the last one is still told why
        assert server.refused("overloaded") == 20


async def test_connection_stays_usable_after_a_refused_body(server: Probe) -> None:
    refused = await server.client.post("/length", content=b"x" * 4 * 2**20)
    assert refused.status_code == 413
    assert (await server.client.post("/length", content=b"four")).json() == {"bytes": 4}


@pytest.mark.parametrize(("path", "version"), [("/length", b"1.1"), ("/nowhere", b"1.0")])
async def test_closing_client_can_send_the_rest_of_its_body(server: Probe, path: str, version: bytes) -> None:
    """Closed at once, the connection would break under what is still sent, and the reply be lost."""
    size = 8 * 2**20 if path == "/length" else 99_000
    sent = head("POST", path, Content_Length=size, Connection="close").replace(b"1.1", version, 1)
    async with connection(server.url) as stream:
        await stream.send(sent)
        assert (await read_reply(stream)).status == (413 if path == "/length" else 404)
        with pytest.raises(anyio.EndOfStream):
            await stream.receive()
        for _ in range(9):
            await stream.send(b"x" * (size // 10))
            await anyio.sleep(0.01)
        assert len(server.register) == 1
        server.register.watch(31)
        await server.connections(0)


async def test_invalid_json_is_refused_before_the_body_is_complete(server: Probe) -> None:
    deep = head("POST", "/length", Content_Length=90_000) + b"[" * 2_000
    async with connection(server.url) as stream:
        await stream.send(deep)
        with anyio.fail_after(20):
            assert (await read_reply(stream)).status == 400
