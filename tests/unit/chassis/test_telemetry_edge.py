"""An app whose callers are strangers decides for itself which traces are kept."""

from collections.abc import Iterator

import pytest
from fastapi import APIRouter, Request

from chassis.http.app import ServiceSpec, create_service
from chassis.settings import ServiceSettings, TelemetrySettings
from chassis.telemetry.setup import open_telemetry
from chassis.telemetry.spans import span, trace_headers
from contracts import headers
from gateway.settings import GatewaySettings
from tests.live import live
from tests.unit.chassis.collector import Collector, collecting

pytestmark = pytest.mark.anyio

PARENT = "b7ad6b7169203331"
LOWEST = "0af7651916cd43dd" + "0" * 15 + "1"
"""Samplers that keep a share of the traces keep those with low ids."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
        yield made


async def passed_on(sent: dict[str, str], *, trusted: bool = False) -> dict[str, str]:
    """What an app says to the next one, once it was told `sent`."""
    router = APIRouter()

    @router.get("/told")
    async def told(_: Request) -> dict[str, str]:
        with span("call", "client", size=3):
            return trace_headers()

    spec = ServiceSpec("edge", [router], lambda _: None, lambda _: None)
    with open_telemetry(TelemetrySettings().exporters):
        async with live(create_service(spec, ServiceSettings(trust_remote_sampling=trusted))) as client:
            replied: dict[str, str] = (await client.get("/told", headers=sent)).json()
    return replied


def test_callers_of_the_gateway_are_strangers_and_those_of_services_are_not() -> None:
    assert not GatewaySettings().trust_remote_sampling
    assert ServiceSettings().trust_remote_sampling


@pytest.mark.parametrize("flags", ["00", "01"])
async def test_our_sampler_decides_and_the_trace_is_still_the_callers(
    collector: Collector, flags: str
) -> None:
    sent = {"traceparent": f"00-{LOWEST}-{PARENT}-{flags}", "tracestate": "vendor=7"}
    replied = await passed_on(sent)
    server = collector.named("GET /told")
    assert (server.trace, server.parent) == (LOWEST, PARENT)
    call = collector.named("call")
    assert (call.parent, call.attributes) == (server.id, {"size": 3})
    assert replied["traceparent"].endswith("-01")
    assert replied["tracestate"] == "vendor=7"


@pytest.mark.parametrize(
    "sent",
    [
        {"traceparent": f"00-{LOWEST}-{PARENT}-01", "tracestate": "ot=th:0,vendor=7"},
        {"traceparent": f"00-{LOWEST}-{PARENT}-ff"},
        {headers.TRACE: LOWEST},
        {},
    ],
)
@pytest.mark.parametrize(
    ("sampler", "argument"),
    [("parentbased_always_off", ""), ("parentbased_traceidratio", "1e-9"), ("traceidratio", "1e-9")],
)
async def test_no_stranger_makes_us_keep_a_trace(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, sampler: str, argument: str, sent: dict[str, str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", argument)
    replied = await passed_on(sent)
    assert collector.raw == []
    assert replied["traceparent"].endswith("-00")


async def test_where_telemetry_is_off_a_stranger_makes_nobody_behind_us_keep_a_trace() -> None:
    sent = {"traceparent": f"00-{LOWEST}-{PARENT}-01"}
    assert (await passed_on(sent))["traceparent"].endswith("-00")


async def test_callers_that_are_heeded_say_what_is_kept(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    await passed_on({"traceparent": f"00-{LOWEST}-{PARENT}-01"}, trusted=True)
    assert {each.name for each in collector.spans} == {"GET /told", "call"}
