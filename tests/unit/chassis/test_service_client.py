"""Whatever a service does to its caller, the caller sees an error of our own table."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import SocketStream

from chassis.errors import DeadlineExceeded, DependencyUnavailable, Overloaded
from chassis.http.calls import Form, ServiceClient, http_client
from chassis.http.client import ExchangeError
from chassis.http.problems import PROBLEM_JSON, problem_response
from chassis.resilience.breaker import Breaker, RetryBudget
from chassis.resilience.deadlines import Deadline
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Guard
from contracts import headers
from contracts.operations import Health
from tests.live import closed_port, live
from tests.scripted_http import Scripted, ScriptedHttp
from tests.unit.chassis.apps import Witness, probe_app
from tests.unit.chassis.test_connection_pool import serving


def after(milliseconds: float = 20_000) -> Deadline:
    return Deadline.after_ms(milliseconds)


@asynccontextmanager
async def service_at(url: str, guard: Guard | None = None) -> AsyncIterator[ServiceClient]:
    async with http_client() as http:
        yield ServiceClient(http, "probe", url, guard)


def replying(scripted: Scripted) -> ServiceClient:
    async def handle(_: str, __: Mapping[str, str]) -> Scripted:
        return scripted

    return ServiceClient(ScriptedHttp(handle), "probe", "http://probe")


async def test_retry_after_is_kept() -> None:
    refusal = problem_response(Overloaded(retry_after_s=7), None)
    service = replying(Scripted(bytes(refusal.body), refusal.status_code, dict(refusal.headers)))
    with pytest.raises(Overloaded) as caught:
        await service.get("/health/ready", Health, after())
    assert caught.value.retry_after_s == 7


@pytest.mark.parametrize(
    "reply",
    [
        Scripted(b"<html>nginx</html>", 502),
        Scripted(b"not a problem", 503, {"content-type": PROBLEM_JSON}),
        Scripted(b"", 302, {"location": "http://127.0.0.1:1/"}),
        Scripted(b"not json"),
        Scripted(b'{"checks": 5}'),
        Scripted(b"\xff\xfe\x00"),
    ],
    ids=lambda reply: f"{reply.status} {reply.content[:12]!r}",
)
async def test_a_reply_outside_the_contract_is_an_unavailable_dependency(reply: Scripted) -> None:
    with pytest.raises(DependencyUnavailable) as caught:
        await replying(reply).get("/health/ready", Health, after())
    assert "127.0.0.1" not in caught.value.detail
    assert "http" not in caught.value.detail


async def test_a_refused_connection_is_an_unavailable_dependency() -> None:
    nobody = closed_port()
    async with service_at(nobody) as service:
        with pytest.raises(DependencyUnavailable) as caught:
            await service.get("/health/ready", Health, after())
    assert nobody.rpartition(":")[2] not in caught.value.detail


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"])
async def test_silent_and_trickling_replies_end_at_the_deadline(start: bytes) -> None:
    async def talk(stream: SocketStream, _: bytes) -> None:
        await stream.send(start)
        while True:
            await stream.send(b" " if start else b"")
            await anyio.sleep(0.005)  # faster than any timeout between two reads

    async with serving(talk) as server, service_at(server.url) as service:
        with anyio.fail_after(20), pytest.raises(DeadlineExceeded):
            await service.get("/health/ready", Health, after(200))


async def test_no_call_is_made_after_the_deadline() -> None:
    witness = Witness()
    async with live(probe_app(witness)) as client, service_at(str(client.base_url)) as service:
        with pytest.raises(DeadlineExceeded):
            await service.get("/remaining", Health, after(0))
    assert witness.ran == []


ASKED = Health(status="ok")


def guard(breaker: Breaker) -> Guard:
    """A guard for reads."""
    return Guard("probe", breaker=breaker, gate=Gate("probe", 4, 8), retries=RetryBudget())


async def test_each_attempt_sends_the_remaining_time() -> None:
    deadlines_ms: list[int] = []

    async def handle(_: str, sent: Mapping[str, str]) -> Scripted:
        deadlines_ms.append(int(sent[headers.DEADLINE]))
        if len(deadlines_ms) == 1:
            raise ExchangeError
        return Scripted(b'{"status":"ok"}')

    service = ServiceClient(ScriptedHttp(handle), "probe", "http://probe", guard(Breaker()))
    await service.send("POST", "/read", Form(fields={"a": "b"}), Health, after())
    assert deadlines_ms[1] <= deadlines_ms[0] - 9


async def test_health_checks_bypass_an_open_breaker() -> None:
    breaker = Breaker(open_s=60.0)
    while (permit := breaker.admit()) is not None:
        breaker.failed(permit)
    async with (
        live(probe_app(Witness())) as client,
        service_at(str(client.base_url), guard(breaker)) as service,
    ):
        assert (await service.get("/health/live", Health, after())).status == "ok"
        with pytest.raises(DependencyUnavailable):
            await service.send("POST", "/length", ASKED, Health, after())


async def test_call_waits_for_its_share_of_a_gpu() -> None:
    card = Gate("card 0", 50, 4)
    guard = Guard("probe", breaker=Breaker(), gate=Gate("probe", 4, 8), card=card)
    in_use: list[float] = []

    async def handle(_: str, sent: Mapping[str, str]) -> Scripted:
        in_use.append(card.in_use)
        return Scripted(b'{"status":"ok"}')

    service = ServiceClient(ScriptedHttp(handle), "probe", "http://probe", guard)
    await service.send("POST", "/read", ASKED, Health, after(), weight_ms=20)
    await service.send("POST", "/read", Form(fields={"a": "b"}), Health, after(), weight_ms=30)
    await service.send("POST", "/read", ASKED, Health, after())
    assert in_use == [20, 30, 0]
