"""One HTTP exchange on a real socket: deadline, trace, body limit, the caller's presence, faults."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any
from unittest.mock import Mock

import anyio
import httpx
import pytest
import structlog
import uvicorn
from fastapi import APIRouter
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from chassis.http.app import ServiceSpec, create_service
from chassis.http.connections import ConnectionLimits, Connections
from chassis.http.protocol import BoundedProtocol
from chassis.scope import current_scope, scope_of
from chassis.settings import AppSettings, ServiceSettings
from contracts import headers
from tests.live import live
from tests.unit.chassis.apps import SECRET, Witness, kind_of, probe_app
from tests.wire import connection, head, read_reply

TRACES = ("0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736")
SCOPE = {headers.CACHE_SCOPE: scope_of(b"secret", "acme")}
TRACE_ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
async def client(witness: Witness) -> AsyncIterator[httpx.AsyncClient]:
    async with live(probe_app(witness)) as made:
        yield made


async def test_expired_deadline_of_client_or_default_cancels_work(
    client: httpx.AsyncClient, witness: Witness
) -> None:
    for sent, most in (({headers.DEADLINE: "5000"}, 5_000), ({}, AppSettings().default_deadline_ms)):
        reply = await client.get("/remaining", headers=sent)
        assert 0 < reply.json()["ms"] <= most
    reply = await client.post("/hang", headers={headers.DEADLINE: "400"})
    assert kind_of(reply) == (504, "deadline_exceeded")
    with anyio.fail_after(20):
        await witness.cancelled.wait()


@pytest.mark.parametrize(
    "deadline_ms", ["0", "", "soon", "-1", "1.5", "1e3", "0x10", "10 000", "9" * 400, "²"]
)
async def test_invalid_or_expired_deadline_is_refused_before_work(
    client: httpx.AsyncClient, witness: Witness, deadline_ms: str
) -> None:
    reply = await client.get("/remaining", headers=[(b"X-Deadline-Ms", deadline_ms.encode("latin-1"))])
    outcome = (504, "deadline_exceeded") if deadline_ms == "0" else (400, "malformed_request")
    assert kind_of(reply) == outcome
    assert witness.ran == []


async def test_deadline_header_cannot_exceed_the_hard_stop(witness: Witness) -> None:
    async with live(probe_app(witness, AppSettings(default_deadline_ms=300, hard_stop_ms=500))) as client:
        reply = await client.get("/remaining", headers={headers.DEADLINE: "999999999"})
        late = await client.post("/hang", headers={headers.DEADLINE: "999999999"})
    assert reply.json()["ms"] <= 500
    assert late.status_code == 504


async def test_work_is_stopped_when_its_caller_leaves(client: httpx.AsyncClient, witness: Witness) -> None:
    async with connection(str(client.base_url)) as stream:
        await stream.send(head("POST", "/hang", Content_Length=2) + b"{}")
        await witness.started.wait()
    with anyio.fail_after(20):
        await witness.cancelled.wait()
    await witness.in_work(0)


async def test_oversized_chunked_body_is_refused(client: httpx.AsyncClient, witness: Witness) -> None:
    chunk = b"3e8\r\n" + b"x" * 1000 + b"\r\n"
    async with connection(str(client.base_url)) as stream:
        await stream.send(head("POST", "/length", Transfer_Encoding="chunked") + chunk * 11)
        reply = await read_reply(stream)  # the body has not ended
    assert reply.status == 413
    assert reply.json()["type"].endswith(":payload_too_large")
    assert witness.ran == []


@pytest.mark.parametrize("path", ["/crash", "/crash-in-a-group"])
async def test_internal_error_is_logged_and_hidden_from_clients(client: httpx.AsyncClient, path: str) -> None:
    with structlog.testing.capture_logs() as logged:
        reply = await client.get(path, headers={headers.TRACE: TRACE_ID})
    assert kind_of(reply) == (500, "internal")
    assert not any(word in reply.text for word in ("secret", "RuntimeError", "10.1.2.3"))
    fault = next(entry for entry in logged if entry["event"] == "unhandled_error")
    assert fault["trace_id"] == TRACE_ID
    assert fault["exc_info"]
    assert SECRET not in str({key: value for key, value in fault.items() if key != "exc_info"})


@pytest.mark.parametrize("trace_id", ["", "short", "0" * 32, TRACE_ID.upper(), TRACE_ID + "0", "x" * 5000])
async def test_a_bad_trace_id_is_replaced(client: httpx.AsyncClient, trace_id: str) -> None:
    reply = await client.get("/remaining", headers={headers.TRACE: trace_id})
    assert reply.status_code == 200
    assert len(reply.headers[headers.TRACE]) == 32
    assert reply.headers[headers.TRACE] != trace_id


@pytest.mark.parametrize(
    ("path", "status", "kind", "header", "detail"),
    [
        ("/busy", 503, "overloaded", ("retry-after", "7"), "Come back later."),
        ("/nowhere", 404, "not_found", None, ""),
        ("/length", 405, "method_not_allowed", ("allow", "POST"), ""),
        ("/items/many", 422, "invalid_request", None, "item:"),
    ],
)
async def test_refusals_of_app_and_router_are_problems(
    client: httpx.AsyncClient,
    path: str,
    status: int,
    kind: str,
    header: tuple[str, str] | None,
    detail: str,
) -> None:
    reply = await client.get(path)
    assert kind_of(reply) == (status, kind)
    assert reply.json()["detail"].startswith(detail)
    assert header is None or header in reply.headers.items()


async def test_metrics_are_labelled_by_template_and_never_by_path(client: httpx.AsyncClient) -> None:
    for path in ["/items/1", "/items/2", "/items/x", "/nowhere/3", "/busy", "/crash"]:
        await client.get(path)
    text = (await client.get("/metrics")).text
    counted = 'loreglass_requests_total{{method="GET",route="{}",service="probe",status="{}"}} {}'
    assert counted.format("/items/{item}", 200, "2.0") in text
    assert counted.format("/items/{item}", 422, "1.0") in text
    assert counted.format("unmatched", 404, "1.0") in text
    assert counted.format("/busy", 503, "1.0") in text
    assert counted.format("/crash", 500, "1.0") in text
    assert "/items/1" not in text
    assert "/nowhere" not in text


async def line_of(
    client: httpx.AsyncClient, path: str, given: list[tuple[str, str]] | None = None
) -> MutableMapping[str, Any]:
    """The one that a GET leaves."""
    with structlog.testing.capture_logs() as logged:
        await client.get(path, headers=given)
    [line] = [line for line in logged if line["event"] == "request"]
    return line


@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/info"])
async def test_successful_health_requests_log_at_debug(client: httpx.AsyncClient, path: str) -> None:
    assert (await line_of(client, path))["log_level"] == "debug"
    refused = await line_of(client, path, [(headers.DEADLINE, "0")])
    assert (refused["log_level"], refused["status"]) == ("info", 504)


async def test_log_line_has_route_and_remaining_time_but_no_query(client: httpx.AsyncClient) -> None:
    line = await line_of(client, "/items/5?name=Ada")
    assert (line["route"], line["status"]) == ("/items/{item}", 200)
    assert "Ada" not in str(line)
    assert "left_ms" not in line
    in_time = await line_of(client, "/remaining", [(headers.DEADLINE, "5000")])
    too_late = await line_of(client, "/remaining", [(headers.DEADLINE, "0")])
    assert too_late["left_ms"] <= 0 < in_time["left_ms"] <= 5000
    assert too_late["problem"] == "deadline_exceeded"


async def test_duplicate_traceparent_is_ignored(client: httpx.AsyncClient) -> None:
    parents = [("traceparent", f"00-{trace}-b7ad6b7169203331-01") for trace in TRACES]
    assert (await line_of(client, "/remaining", parents[:1]))["trace_id"] == TRACES[0]
    assert (await line_of(client, "/remaining", parents))["trace_id"] not in TRACES


async def test_cache_scope_header_is_read_by_services_only(
    client: httpx.AsyncClient,
) -> None:
    router = APIRouter()

    @router.get("/scope")
    async def scope() -> str:
        return current_scope()

    spec = ServiceSpec("probe", [router], lambda _: None, lambda _: None)
    async with live(create_service(spec, ServiceSettings())) as service:
        assert (await service.get("/scope", headers=SCOPE)).json() == SCOPE[headers.CACHE_SCOPE]
    assert (await client.get("/scope", headers=SCOPE)).json() == ""


@pytest.mark.parametrize("ends", ["shutdown", "eof_received", "give_way"])
async def test_buffered_output_is_flushed_before_the_end(ends: str) -> None:
    wire, written, at_the_end, done = Mock(asyncio.Transport), list[bytes](), list[bytes](), anyio.Event()
    wire.is_closing.return_value, wire.get_write_buffer_size.return_value = False, 0
    wire.get_extra_info.return_value = None
    wire.write.side_effect, wire.writelines.side_effect = written.append, written.extend

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"bo", "more_body": True})
        await send({"type": "http.response.body", "body": b"dy"})
        getattr(protocol, ends)()
        at_the_end.extend(written)
        done.set()

    protocol = BoundedProtocol(
        config=uvicorn.Config(app, log_config=None),
        server_state=ServerState(),
        app_state={},
        connections=Connections(ConnectionLimits()),
    )
    protocol.connection_made(wire)
    protocol.data_received(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
    with anyio.fail_after(20):
        await done.wait()
    assert b"".join(at_the_end).endswith(b"\r\n\r\nbody")
