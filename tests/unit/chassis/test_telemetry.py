"""Traces by the real SDK, as an exporter receives them."""

import socket
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from contextvars import copy_context
from http.server import BaseHTTPRequestHandler

import anyio
import httpx
import pytest
from fastapi import FastAPI, Request
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import (
    INVALID_SPAN,
    SpanKind,
    format_span_id,
    format_trace_id,
    get_current_span,
)

from chassis.errors import Overloaded
from chassis.http.app import RequestDeadline, ServiceSpec, create_app, create_service
from chassis.http.bodies import Router
from chassis.http.calls import ServiceClient, http_client
from chassis.settings import AppSettings, ServiceSettings, TelemetrySettings
from chassis.startup import CannotStart
from chassis.telemetry import otlp
from chassis.telemetry.metrics import Metrics
from chassis.telemetry.spans import exchange_span, open_telemetry, span, trace_headers
from contracts import headers
from contracts.operations import Health
from gateway.settings import GatewaySettings
from tests.live import live
from tests.loopback import taking_posts

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
LOWEST = "0af7651916cd43dd" + "0" * 15 + "1"
"""Samplers that keep a share of the traces keep those with low ids."""
SECRET = "what is written in my diary"


class Collector(InMemorySpanExporter):
    """The spans that were exported."""

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self.get_finished_spans()

    def named(self, name: str) -> ReadableSpan:
        """The only span of this name."""
        (span,) = (each for each in self.spans if each.name == name)
        return span

    def holds(self, text: str) -> bool:
        return any(text in each.to_json() for each in self.spans)


def trace_of(span: ReadableSpan) -> str:
    return format_trace_id(span.context.trace_id)


def id_of(span: ReadableSpan) -> str:
    return format_span_id(span.context.span_id)


def parent_of(span: ReadableSpan) -> str:
    return format_span_id(span.parent.span_id) if span.parent else ""


def failure_of(span: ReadableSpan) -> str | None:
    """The kind of error that the span is marked with; None if it has not failed."""
    return None if span.status.is_unset else str(span.attributes["error.type"])


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    collector = Collector()
    monkeypatch.setitem(otlp._EXPORTERS, "otlp", lambda: collector)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    return collector


def telemetry() -> AbstractContextManager[None]:
    """What `serve` opens: everything that was recorded has arrived when it closes."""
    return open_telemetry(TelemetrySettings().exporters)


def back_app() -> FastAPI:
    """A service with an engine; it tells what it was sent."""
    router = Router()

    @router.get("/next")
    async def tell(request: Request, deadline: RequestDeadline) -> dict[str, str]:
        with span("stage look", {"size": 3}):
            await request.app.state.pool.run(lambda _: None, deadline)
        return {name: value for name, value in request.headers.items() if name.startswith("trace")}

    @router.get("/busy/{item}")
    async def busy(item: str) -> Health:
        raise Overloaded(f"There is no room for {item}.")

    spec = ServiceSpec("back_end", [router], lambda _: None, lambda _: None)
    return create_service(spec, ServiceSettings())


def front_app(back: str) -> FastAPI:
    """An app that asks the other one."""
    router = Router()

    @router.get("/ask/{path:path}")
    async def ask(request: Request, path: str, deadline: RequestDeadline) -> Health:
        service: ServiceClient = request.app.state.service
        return await service.get(f"/{path}", Health, deadline)

    @router.get("/crash")
    async def crash() -> Health:
        raise RuntimeError(SECRET)

    @router.get("/hang")
    async def hang() -> Health:
        with span("stage wait"):
            await anyio.sleep_forever()
        return Health(status="ok")

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with http_client() as http:
            app.state.service = ServiceClient(http, "back_end", back)
            app.state.ready_checks = {}
            yield

    return create_app("front", AppSettings(), [router], lifespan, Metrics("front"))


@asynccontextmanager
async def both() -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    async with live(back_app()) as back, live(front_app(str(back.base_url))) as front:
        yield front, back


async def test_trace_continues_from_the_client_through_both_apps(collector: Collector) -> None:
    with telemetry():
        async with both() as (front, _):
            sent = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=7"}
            reply = await front.get("/ask/next", params={"question": SECRET}, headers=sent)
    assert reply.headers[headers.TRACE] == TRACE
    server, client = collector.named("GET /ask/{path:path}"), collector.named("GET back_end")
    behind, stage, engine = (collector.named(name) for name in ("GET /next", "stage look", "engine"))
    chain = (server, client, behind, stage, engine)
    assert {trace_of(each) for each in collector.spans} == {TRACE}
    assert [parent_of(each) for each in chain] == [PARENT, *map(id_of, chain[:-1])]
    services = [each.resource.attributes["service.name"] for each in chain]
    assert services == ["loreglass-front"] * 2 + ["loreglass-back-end"] * 3
    assert [each.kind for each in chain[:3]] == [SpanKind.SERVER, SpanKind.CLIENT, SpanKind.SERVER]
    assert stage.attributes == {"size": 3}
    assert server.attributes["http.route"] == "/ask/{path:path}"
    assert server.attributes["http.response.status_code"] == 503  # the reply was of another shape
    assert client.attributes["peer.service"] == "back_end"
    assert client.attributes["server.address"] == "127.0.0.1"
    assert server.resource.attributes["service.version"]
    assert not collector.holds("diary")


def test_spans_are_exported_with_the_configured_service_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrived: list[tuple[str, bytes]] = []

    def keep(request: BaseHTTPRequestHandler, body: bytes) -> None:
        arrived.append((request.path, body))
        request.send_response(200)
        request.end_headers()

    with taking_posts(keep) as url:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "the-name-that-was-asked-for")
        with telemetry(), exchange_span("back_end", "outer"):
            pass
    ((path, body),) = arrived
    assert path == "/v1/traces"
    assert b"the-name-that-was-asked-for" in body
    assert b"loreglass-back-end" not in body


async def test_span_of_a_failure_has_its_kind_but_no_text(collector: Collector) -> None:
    with telemetry():
        async with both() as (front, back):
            assert (await front.get("/crash")).status_code == 500
            assert (await back.get("/busy/diary")).status_code == 503
            assert (await back.get("/nowhere/diary")).status_code == 404
    crashed, busy, lost = (collector.named(name) for name in ("GET /crash", "GET /busy/{item}", "GET"))
    assert (failure_of(crashed), failure_of(busy), failure_of(lost)) == ("internal", "overloaded", None)
    assert "http.route" not in lost.attributes
    assert not collector.holds("diary")


async def test_new_trace_has_the_returned_id_and_probes_have_none(
    collector: Collector,
) -> None:
    with telemetry():
        async with both() as (_, back):
            ours = await back.get("/next", headers={headers.TRACE: TRACE})
            new = await back.get("/next")
            for path in ("/health/live", "/health/ready", "/metrics", "/info"):
                assert (await back.get(path)).status_code == 200
    assert ours.headers[headers.TRACE] == TRACE
    servers = [each for each in collector.spans if each.kind is SpanKind.SERVER]
    assert [trace_of(each) for each in servers] == [TRACE, new.headers[headers.TRACE]]
    assert [parent_of(each) for each in servers] == ["", ""]


async def test_cancelled_work_is_not_a_failure(collector: Collector) -> None:
    with telemetry():
        async with both() as (front, _):
            reply = await front.get("/hang", headers={headers.DEADLINE: "50"})
    assert reply.status_code == 504
    stage, server = collector.named("stage wait"), collector.named("GET /hang")
    assert (failure_of(stage), stage.attributes["loreglass.cancelled"]) == (None, True)
    assert failure_of(server) == "deadline_exceeded"


@pytest.mark.parametrize("flags", ["00", "01"])
async def test_trace_headers_are_forwarded_without_telemetry(flags: str) -> None:
    seen: dict[str, str] = {}

    async def record(request: Request) -> Health:
        seen.update(request.headers)
        return Health(status="ok")

    app = FastAPI()
    app.add_api_route("/seen", record)
    async with live(app) as back, live(front_app(str(back.base_url))) as front:
        sent = {"traceparent": f"00-{TRACE}-{PARENT}-{flags}", "tracestate": "vendor=7,other=8"}
        assert (await front.get("/ask/seen", headers=sent)).status_code == 200
    assert {name: seen[name] for name in sent} == sent


@pytest.mark.parametrize(
    ("exporter", "disabled", "chosen"),
    [
        (None, "", ("otlp",)),
        ("none", "", ()),
        ("otlp, console", "", ("console", "otlp")),
        ("otlp", "TRUE", ()),
    ],
)
def test_telemetry_is_off_by_default(
    monkeypatch: pytest.MonkeyPatch, exporter: str | None, disabled: str, chosen: tuple[str, ...]
) -> None:
    assert TelemetrySettings().exporters == ()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/v1/traces")
    monkeypatch.setenv("OTEL_SDK_DISABLED", disabled)
    if exporter:
        monkeypatch.setenv("OTEL_TRACES_EXPORTER", exporter)
    assert TelemetrySettings().exporters == chosen


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_TRACES_EXPORTER", "zipkin"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]
)
def test_unsupported_exporter_settings_stop_the_start(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
    monkeypatch.setenv(name, value)
    with pytest.raises(CannotStart, match=name):
        _ = TelemetrySettings().exporters


def test_missing_telemetry_package_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "chassis.telemetry.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(CannotStart, match=r"loreglass\[telemetry\]"), open_telemetry(["otlp"]):
        pass


async def test_silent_collector_delays_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
        monkeypatch.setattr("chassis.telemetry.otlp._FLUSH_S", 0.05)
        with telemetry():
            async with both() as (_, back):
                replies = [await back.get("/next", headers={headers.DEADLINE: "2000"}) for _ in range(5)]
    assert {reply.status_code for reply in replies} == {200}
    for thread in threading.enumerate():
        if thread.name.startswith(("OtelBatch", "telemetry-flush")):
            thread.join(20)


def test_span_closed_in_another_context_keeps_the_current_span(collector: Collector) -> None:
    with telemetry(), exchange_span("probe", "outer") as outer:
        elsewhere = copy_context()
        inner = span("inner")
        elsewhere.run(inner.__enter__)
        inner.__exit__(None, None, None)  # as when an iterator is finished by the event loop
        assert get_current_span() is outer
    assert get_current_span() is INVALID_SPAN
    assert parent_of(collector.named("inner")) == id_of(collector.named("outer"))


async def passed_on(sent: dict[str, str]) -> dict[str, str]:
    """What an app says to the next one, once it was told `sent`."""
    router = Router()

    @router.get("/next")
    async def next_call(_: Request) -> dict[str, str]:
        with span("call", {"size": 3}, SpanKind.CLIENT):
            return trace_headers()

    spec = ServiceSpec("edge", [router], lambda _: None, lambda _: None)
    with telemetry():
        async with live(create_service(spec, ServiceSettings(trust_remote_sampling=False))) as client:
            replied: dict[str, str] = (await client.get("/next", headers=sent)).json()
    return replied


async def test_gateway_ignores_remote_sampling_and_services_follow_it(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not GatewaySettings().trust_remote_sampling
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    with telemetry():
        async with live(back_app()) as back:
            await back.get("/next")
            await back.get("/next", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
    assert set(map(trace_of, collector.spans)) == {TRACE}


@pytest.mark.parametrize("flags", ["00", "01"])
async def test_own_sampler_decides_within_the_clients_trace(collector: Collector, flags: str) -> None:
    sent = {"traceparent": f"00-{LOWEST}-{PARENT}-{flags}", "tracestate": "vendor=7"}
    replied = await passed_on(sent)
    server = collector.named("GET /next")
    assert (trace_of(server), parent_of(server)) == (LOWEST, PARENT)
    assert parent_of(collector.named("call")) == id_of(server)
    assert replied["traceparent"].endswith("-01")
    assert replied["tracestate"] == "vendor=7"


@pytest.mark.parametrize(
    ("sampler", "argument", "sent"),
    [
        (
            "parentbased_traceidratio",
            "1e-9",
            {"traceparent": f"00-{LOWEST}-{PARENT}-01", "tracestate": "ot=th:0,vendor=7"},
        ),
        ("parentbased_always_off", "", {"traceparent": f"00-{LOWEST}-{PARENT}-ff"}),
        ("traceidratio", "1e-9", {headers.TRACE: LOWEST}),
    ],
)
async def test_untrusted_clients_cannot_force_sampling(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, sampler: str, argument: str, sent: dict[str, str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", argument)
    replied = await passed_on(sent)
    assert collector.spans == ()
    assert replied["traceparent"].endswith("-00")


async def test_untrusted_clients_cannot_force_sampling_in_services() -> None:
    sent = {"traceparent": f"00-{LOWEST}-{PARENT}-01"}
    assert (await passed_on(sent))["traceparent"].endswith("-00")
