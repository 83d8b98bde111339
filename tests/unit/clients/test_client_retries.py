"""Retries of the Python client: when, how often and how long it waits."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import httpx
import pytest

from loreglass_client import Answer, AsyncLoreglass, Loreglass, LoreglassError, Retries
from loreglass_client.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    InvalidRequest,
    Overloaded,
    Unreachable,
)
from tests.unit.clients.test_client import BODY

FINAL = f"event: final\ndata: {json.dumps(BODY)}\n\n".encode()
STAGE = b'event: stage\ndata: {"stage": "draft", "state": "done", "ms": 1}\n\n'

Said = httpx.Response | Exception


def answered() -> httpx.Response:
    return httpx.Response(200, json=BODY)


def cut(*pieces: bytes) -> httpx.Response:
    return httpx.Response(200, stream=Cut(pieces))


def problem(kind: str, status: int, **headers: str) -> httpx.Response:
    body = {"type": f"urn:loreglass:problem:{kind}", "title": kind, "status": status, "detail": "Not now."}
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body, headers=sent | {"content-type": "application/problem+json"})


class Server:
    """Says what it is told to, in turn; its clock goes on only while the client sleeps, or while it works."""

    def __init__(self, *said: Said, works_s: float = 0.0) -> None:
        self.replies = list(said)
        self.works_s = works_s
        self.now = 100.0
        self.slept: list[float] = []
        self.seen: list[tuple[str, bytes, float]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        deadline_s = int(request.headers["x-deadline-ms"]) / 1000
        self.seen.append((request.headers.get("idempotency-key", ""), request.read(), deadline_s))
        self.now += self.works_s
        text = self.replies.pop(0)
        if isinstance(text, Exception):
            raise text
        return text

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


Ask = Callable[..., Awaitable[Any]]
OpenClient = Callable[[Server, Retries], Ask]


def awaited(server: Server, retries: Retries) -> Ask:
    http = httpx.AsyncClient(transport=httpx.MockTransport(server))
    clock = lambda: server.now  # noqa: E731
    client = AsyncLoreglass("http://g", http=http, retries=retries, clock=clock, sleep=server.sleep_async)

    async def ask(name: str, **options: Any) -> Any:
        if name == "stream":
            return [event async for event in client.stream("q", b"photo", **options)]
        return await getattr(client, name)("q", **options)

    return ask


def blocking(server: Server, retries: Retries) -> Ask:
    http = httpx.Client(transport=httpx.MockTransport(server))
    client = Loreglass("http://g", http=http, retries=retries, clock=lambda: server.now, sleep=server.sleep)

    async def ask(name: str, **options: Any) -> Any:
        if name == "stream":
            return list(client.stream("q", b"photo", **options))
        return getattr(client, name)("q", **options)

    return ask


@pytest.fixture(params=[awaited, blocking])
def open_client(request: pytest.FixtureRequest) -> Any:
    """A client of a server, with `await` or without."""
    return request.param


HALF = Retries(chance=lambda: 0.5)
BROKEN = httpx.RemoteProtocolError("cut")


def busy(seconds: int | str, kind: str = "overloaded", status: int = 503) -> httpx.Response:
    return problem(kind, status, retry_after=str(seconds))


def proxy(status: int) -> httpx.Response:
    return httpx.Response(status, html="<h1>Bad gateway</h1>")


@pytest.mark.parametrize(
    ("failures", "slept"),
    [
        (lambda: [httpx.ConnectError("refused"), BROKEN, httpx.ReadError("reset")], [0.125, 0.25, 0.5]),
        (lambda: [busy(3), busy(3, "quota_exceeded", 429)], [3, 3]),
        (lambda: [busy(0)], [0]),
        (lambda: [proxy(502), proxy(503), proxy(504)], [0.125, 0.25, 0.5]),
        (lambda: [cut(b'{"answer": ')], [0.125]),
    ],
    ids=["connection", "busy", "busy for no time", "proxy", "cut"],
)
async def test_transient_failures_are_retried_with_the_same_request(
    open_client: OpenClient, failures: Callable[[], list[Said]], slept: list[float]
) -> None:
    server = Server(*failures(), answered())
    answer = await open_client(server, HALF)("ask", photo=b"photo", deadline_ms=20_000)
    assert answer == Answer.model_validate(BODY)
    assert len({(key, body) for key, body, _ in server.seen}) == 1
    assert len(server.seen[0][0]) == 32
    assert server.slept == slept


async def test_each_question_has_its_own_key_or_the_callers(open_client: OpenClient) -> None:
    server = Server(answered(), answered(), answered())
    ask = open_client(server, HALF)
    await ask("ask", idempotency_key="mine")
    await ask("ask")
    await ask("ask")
    mine, *others = [key for key, _, _ in server.seen]
    assert mine == "mine"
    assert len(set(others)) == 2


PATIENT = Retries(most=6, first_s=1.0, longest_s=8.0, chance=lambda: 1.0)


@pytest.mark.parametrize(
    ("reply", "retries", "options", "expected", "slept"),
    [
        (lambda: problem("invalid_request", 422, retry_after="1"), HALF, {}, InvalidRequest, []),
        (lambda: problem("dependency_unavailable", 503), HALF, {}, DependencyUnavailable, []),
        (lambda: busy("soon"), HALF, {}, Overloaded, []),
        (lambda: problem("deadline_exceeded", 504), HALF, {}, DeadlineExceeded, []),
        (lambda: httpx.ReadTimeout("slow"), HALF, {}, DeadlineExceeded, []),
        (lambda: BROKEN, PATIENT, {}, Unreachable, [1, 2, 4, 8, 8, 8]),
        (lambda: busy(8), HALF, {"deadline_ms": 10_000}, Overloaded, []),
        (lambda: busy(60), HALF, {"deadline_ms": 10_000}, Overloaded, []),
        (lambda: busy(20), HALF, {}, Overloaded, [20, 20, 20]),
    ],
    ids=[
        "invalid",
        "no pause",
        "odd pause",
        "late",
        "slow",
        "broken",
        "too late",
        "far too late",
        "patience",
    ],
)
async def test_retries_end_where_they_do_not_help_and_with_the_time(
    open_client: OpenClient,
    reply: Callable[[], Said],
    retries: Retries,
    options: dict[str, Any],
    expected: type[LoreglassError],
    slept: list[float],
) -> None:
    server = Server(*(reply() for _ in range(9)), works_s=2 if options else 0)
    with pytest.raises(expected) as raised:
        await open_client(server, retries)("ask", **options)
    assert server.slept == slept
    assert not options or raised.value.retry_after_s in (8, 60)


async def test_retries_count_against_the_deadline(open_client: OpenClient) -> None:
    server = Server(problem("overloaded", 503, retry_after="3"), answered(), works_s=2)
    await open_client(server, HALF)("ask", deadline_ms=10_000)
    assert server.seen[0][2] >= 10
    assert server.seen[1][2] == 5


class Cut(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that breaks off after these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        raise BROKEN

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece


async def test_stream_is_retried_before_its_first_event(open_client: OpenClient) -> None:
    server = Server(BROKEN, cut(b":\n\n", STAGE[:20]), httpx.Response(200, content=FINAL))
    assert await open_client(server, HALF)("stream") == [Answer.model_validate(BODY)]
    assert len({(key, body) for key, body, _ in server.seen}) == 1


async def test_stream_is_not_retried_after_an_event(open_client: OpenClient) -> None:
    server = Server(cut(STAGE), httpx.Response(200, content=FINAL))
    with pytest.raises(Unreachable):
        await open_client(server, HALF)("stream")
    assert server.slept == []


async def test_trickling_reply_ends_at_the_deadline(open_client: OpenClient) -> None:
    server = Server()

    class Trickle(Cut):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(100):
                server.now += 1
                yield b" "

    server.replies = [httpx.Response(200, stream=Trickle([]))]
    with pytest.raises(DeadlineExceeded):
        await open_client(server, HALF)("ask", deadline_ms=10_000)
    assert server.now < 120
