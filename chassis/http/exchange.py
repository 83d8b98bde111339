"""The outermost layer of every app: one HTTP exchange with its deadline, its trace and its caller's presence.

Pure ASGI, so that a caller's leaving is seen while the app works: the app's task is then cancelled.
"""

import asyncio
import time
import uuid
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial

import anyio
import structlog
from opentelemetry.trace import INVALID_SPAN, Span, SpanContext, TraceFlags, format_trace_id
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.errors import (
    DeadlineExceeded,
    Internal,
    LoreglassError,
    MalformedRequest,
    Overloaded,
    PayloadTooLarge,
)
from chassis.http.access import Callers
from chassis.http.connections import Upload, UploadBudget, address_of
from chassis.http.problems import problem_response, read_problem_kind
from chassis.resilience.deadlines import Deadline
from chassis.scope import read_scope, scoped
from chassis.settings import AppSettings
from chassis.telemetry.metrics import Metrics, known_method
from chassis.telemetry.spans import (
    TRACE_ID,
    TRACEPARENT,
    TRACESTATE,
    exchange_span,
    is_trace_id,
    mark_failed,
    read_caller,
)
from contracts import headers

_DEADLINE, _TRACE = headers.DEADLINE.lower().encode(), headers.TRACE.lower().encode()
_LENGTH, _CODING = b"content-length", b"transfer-encoding"
_PARENT, _STATE = TRACEPARENT.encode(), TRACESTATE.encode()
_SCOPE = headers.CACHE_SCOPE.lower().encode()
_READ = frozenset((_DEADLINE, _TRACE, _LENGTH, _CODING, _PARENT, _STATE, _SCOPE))
_UNTRACED = frozenset(("/metrics", "/health/live", "/health/ready", "/info"))
"""Asked by machines all day long: neither spans nor, while all is well, log lines."""
_CLIENT_CLOSED_REQUEST = 499  # nginx's status for a caller that left; only seen in logs and metrics
_UNMATCHED = "unmatched"
_SMALL_BODY = 16 * 2**10
"""Bytes that are not counted over all requests: connections are, and hold more themselves."""
_CLIENT_ERROR = 400
_SERVER_ERROR = 500

log = structlog.get_logger()


@dataclass
class _Exchange:
    """The state of one request. `unread`: why no more of it can be read."""

    trace_id: str
    started: float
    headers: Mapping[bytes, bytes]
    caller: SpanContext | None = None
    span: Span = INVALID_SPAN
    deadline: Deadline | None = None
    status: int = 0
    failure: LoreglassError | None = None
    upload: Upload | None = None
    unread: Exception | None = None
    caller_left: bool = False
    app_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ExchangeMiddleware:
    """Gives each request a trace id and a deadline; ends the work when time is over or the caller leaves."""

    def __init__(
        self,
        app: ASGIApp,
        settings: AppSettings,
        metrics: Metrics,
        uploads: UploadBudget,
        callers: Callers,
    ) -> None:
        self._app = app
        self._settings = settings
        self._uploads = uploads
        self._callers = callers
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _begin(scope, self._settings.trust_remote_sampling)
        self._metrics.begin()
        method, at_the_edge = known_method(scope["method"]), not self._settings.trust_remote_sampling
        traced = exchange_span(self._metrics.service, method, exchange.caller, at_the_edge=at_the_edge)
        with nullcontext(INVALID_SPAN) if scope["path"] in _UNTRACED else traced as exchange.span:
            try:
                await self._run(scope, receive, _with_trace_id(send, exchange), exchange)
            finally:
                if exchange.upload is not None:
                    exchange.upload.close()
                self._finish(scope, exchange)

    async def _run(self, scope: Scope, receive: Receive, send: Send, exchange: _Exchange) -> None:
        try:
            deadline = _deadline(exchange.headers, self._settings)
            exchange.deadline = deadline
            named = _text(exchange.headers, _SCOPE)
            with (
                scoped(read_scope(named) if self._callers.name_scopes and named else ""),
                ExitStack() as ended,  # what a route has to be done once the reply is sent, or not wanted
            ):
                state = {"trace_id": exchange.trace_id, "deadline": deadline, "ended": ended}
                scope.setdefault("state", {}).update(state)
                deadline.require()
                self._find_room(scope, exchange)
                self._callers.check(scope)
                await self._run_watched(scope, receive, send, exchange, deadline)
        except LoreglassError as error:
            exchange.failure = error
        except Exception:
            log.exception("unhandled_error", service=self._metrics.service, trace_id=exchange.trace_id)
            exchange.failure = Internal()
        if exchange.failure and not exchange.status and not exchange.caller_left:
            await problem_response(exchange.failure, exchange.trace_id)(scope, receive, send)

    def _find_room(self, scope: Scope, exchange: _Exchange) -> None:
        """Refuse a body that is declared too large; count a large one among those of all requests."""
        declared = _text(exchange.headers, _LENGTH) or "0"
        size = int(declared) if declared.isdecimal() else 0
        if size > self._settings.max_body_bytes:
            raise PayloadTooLarge(_too_large(self._settings.max_body_bytes))
        if size > _SMALL_BODY or _CODING in exchange.headers:
            address = address_of(scope["client"][0] if scope.get("client") else "")
            tenant = self._callers.tenant_of(scope)
            exchange.upload = self._uploads.open(address, size, partial(_give_up, exchange), tenant)

    async def _run_watched(
        self, scope: Scope, receive: Receive, send: Send, exchange: _Exchange, deadline: Deadline
    ) -> None:
        """Run the app while a second task reads the caller's messages, so that leaving is noticed."""
        inbox = asyncio.Queue[Message](1)
        exchange.app_scope.deadline = anyio.current_time() + deadline.remaining_s()
        reading = asyncio.create_task(self._pump(receive, inbox, exchange))
        try:
            with exchange.app_scope:
                await self._app(scope, inbox.get, send)
        finally:
            reading.cancel()
        if exchange.unread is not None:
            raise exchange.unread
        if exchange.app_scope.cancelled_caught and not exchange.caller_left:
            raise DeadlineExceeded("The request was not finished before its deadline.")

    async def _pump(self, receive: Receive, inbox: asyncio.Queue[Message], exchange: _Exchange) -> None:
        read = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    exchange.caller_left = True
                    break
                size = len(message.get("body", b""))
                read += size
                if read > self._settings.max_body_bytes:
                    raise PayloadTooLarge(_too_large(self._settings.max_body_bytes))
                if exchange.upload is not None:
                    exchange.upload.receive(size, more=message.get("more_body", False))
                await inbox.put(message)
        except Exception as error:  # noqa: BLE001 - raised where the app is waited for
            exchange.unread = error
        exchange.app_scope.cancel()

    def _finish(self, scope: Scope, exchange: _Exchange) -> None:
        """`left_ms` in the log is what remained of the caller's time; below zero, the reply came too late."""
        status = exchange.status or _CLIENT_CLOSED_REQUEST
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        seconds = time.monotonic() - exchange.started
        problem = exchange.failure.kind.value if exchange.failure else read_problem_kind(scope)
        self._metrics.observe(route, scope["method"], status, seconds, problem)
        if exchange.span.is_recording():
            _tell(exchange.span, scope, route, status, problem)
        fields: dict[str, str | float] = {"problem": problem} if problem else {}
        if exchange.deadline is not None and _DEADLINE in exchange.headers:
            fields["left_ms"] = round(exchange.deadline.remaining_ms())
        routine = scope["path"] in _UNTRACED and status < _CLIENT_ERROR
        say = log.debug if routine else log.info
        say(
            "request",
            service=self._metrics.service,
            route=route,
            method=known_method(scope["method"]),
            status=status,
            ms=round(seconds * 1000, 1),
            **fields,
            trace_id=exchange.trace_id,
        )


def _tell(span: Span, scope: Scope, route: str, status: int, problem: str) -> None:
    """Set OpenTelemetry's attributes. No path and no query: they may hold a session's id or a question."""
    method = known_method(scope["method"])
    span.set_attributes(
        {
            "http.request.method": method,
            "http.response.status_code": status,
            "url.scheme": scope["scheme"],
            "network.protocol.version": scope["http_version"],
        }
    )
    if route != _UNMATCHED:
        span.update_name(f"{method} {route}")
        span.set_attribute("http.route", route)
    if status >= _SERVER_ERROR:
        mark_failed(span, problem or str(status))


def _with_trace_id(send: Send, exchange: _Exchange) -> Send:
    """Return `send` that adds the trace id to the reply's headers and notes its status."""

    async def send_with_trace_id(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            trace = (_TRACE, exchange.trace_id.encode())
            message = {**message, "headers": [*message.get("headers", []), trace]}
        await send(message)

    return send_with_trace_id


def _begin(scope: Scope, trust_remote_sampling: bool) -> _Exchange:
    """The trace is the caller's, in the words of W3C or in ours, or else a new one."""
    headers_read: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _READ:  # one that comes twice is one list, which no header but tracestate may be
            headers_read[name] = headers_read[name] + b"," + value if name in headers_read else value
    caller = read_caller(_text(headers_read, _PARENT) or "", _text(headers_read, _STATE) or "")
    if caller and not trust_remote_sampling:
        caller = SpanContext(caller.trace_id, caller.span_id, True, TraceFlags(0), caller.trace_state)
    trace_id = format_trace_id(caller.trace_id) if caller else _text(headers_read, _TRACE) or ""
    trace_id = trace_id if is_trace_id(trace_id) else uuid.uuid4().hex
    exchange = _Exchange(trace_id, time.monotonic(), headers_read, caller)
    TRACE_ID.set(exchange.trace_id)
    return exchange


def _text(headers_read: Mapping[bytes, bytes], name: bytes) -> str | None:
    value = headers_read.get(name)
    return None if value is None else value.decode("latin-1")


def _give_up(exchange: _Exchange) -> None:
    exchange.unread = Overloaded("The body came too slowly, and others needed its place.", retry_after_s=1)
    exchange.app_scope.cancel()


def _deadline(headers_read: Mapping[bytes, bytes], settings: AppSettings) -> Deadline:
    text = _text(headers_read, _DEADLINE)
    if text is None:
        return Deadline.after_ms(settings.default_deadline_ms)
    if not text.isdecimal() or len(text) > 9:
        raise MalformedRequest(f"{headers.DEADLINE} must be a whole number of milliseconds.")
    return Deadline.after_ms(min(int(text), settings.longest_exchange_ms))


def _too_large(limit: int) -> str:
    return f"The request body is larger than {limit // 2**20} MiB."
