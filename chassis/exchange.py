"""The outermost layer of every app: one HTTP exchange with its deadline, its trace and its caller's presence.

Pure ASGI, so that a caller's leaving is seen while the app works: the app's task is then cancelled.
"""

import re
import time
import uuid
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.streams.memory import MemoryObjectSendStream
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.deadlines import Deadline
from chassis.errors import DeadlineExceeded, Internal, LoreglassError, MalformedRequest, PayloadTooLarge
from chassis.metrics import Metrics
from chassis.problems import problem_response
from chassis.tracing import TRACE_ID
from contracts import headers

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_CLIENT_CLOSED_REQUEST = 499  # nginx's status for a caller that left; only seen in logs and metrics
_UNMATCHED = "unmatched"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ExchangeLimits:
    """`default_deadline_ms` is for callers that send none; `max_body_bytes` bounds what is read."""

    default_deadline_ms: int
    max_body_bytes: int


@dataclass
class _Exchange:
    """What is known of one request while it runs."""

    trace_id: str
    started: float
    status: int = 0
    failure: LoreglassError | None = None
    caller_left: bool = False
    app_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)


class ExchangeMiddleware:
    """Gives each request a trace id and a deadline; ends the work when time is over or the caller leaves."""

    def __init__(self, app: ASGIApp, limits: ExchangeLimits, metrics: Metrics) -> None:
        self._app = app
        self._limits = limits
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(_trace_id(scope), time.monotonic())
        TRACE_ID.set(exchange.trace_id)
        sender = _Sender(send, exchange)
        with self._metrics.in_flight.labels(self._metrics.service).track_inprogress():
            try:
                await self._run(scope, receive, sender, exchange)
            finally:
                self._finish(scope, exchange)

    async def _run(self, scope: Scope, receive: Receive, send: "_Sender", exchange: _Exchange) -> None:
        try:
            deadline = _deadline(scope, self._limits.default_deadline_ms)
            scope.setdefault("state", {}).update(trace_id=exchange.trace_id, deadline=deadline)
            deadline.require()
            _check_declared_length(scope, self._limits.max_body_bytes)
            await self._run_watched(scope, receive, send, exchange, deadline)
        except LoreglassError as error:
            exchange.failure = error
        except Exception:
            log.exception("unhandled_error", service=self._metrics.service, trace_id=exchange.trace_id)
            exchange.failure = Internal()
        if exchange.failure and not exchange.status and not exchange.caller_left:
            await problem_response(exchange.failure, exchange.trace_id)(scope, receive, send)

    async def _run_watched(
        self, scope: Scope, receive: Receive, send: "_Sender", exchange: _Exchange, deadline: Deadline
    ) -> None:
        """Run the app while a second task reads the caller's messages, so that leaving is noticed."""
        inbox, messages = anyio.create_memory_object_stream[Message](1)
        unhandled: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._pump, receive, inbox, exchange)
            with exchange.app_scope, anyio.move_on_after(deadline.remaining_s()) as clock:
                try:
                    await self._app(scope, messages.receive, send)
                except Exception as error:  # noqa: BLE001 - carried out of the group, which would wrap it
                    unhandled = error
            group.cancel_scope.cancel()
        inbox.close()
        messages.close()
        if unhandled is not None:
            raise unhandled
        if clock.cancelled_caught:
            raise DeadlineExceeded("The request was not finished before its deadline.")

    async def _pump(
        self, receive: Receive, inbox: MemoryObjectSendStream[Message], exchange: _Exchange
    ) -> None:
        read = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                exchange.caller_left = True
                exchange.app_scope.cancel()
                return
            read += len(message.get("body", b""))
            if read > self._limits.max_body_bytes:
                exchange.failure = PayloadTooLarge(_too_large(self._limits.max_body_bytes))
                exchange.app_scope.cancel()
                return
            await inbox.send(message)

    def _finish(self, scope: Scope, exchange: _Exchange) -> None:
        status = exchange.status or _CLIENT_CLOSED_REQUEST
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        seconds = time.monotonic() - exchange.started
        self._metrics.observe(route, scope["method"], status, seconds)
        log.info(
            "request",
            service=self._metrics.service,
            route=route,
            method=scope["method"],
            status=status,
            ms=round(seconds * 1000, 1),
            trace_id=exchange.trace_id,
        )


class _Sender:
    """Passes the reply on with the trace id in its headers, and remembers the status."""

    def __init__(self, send: Send, exchange: _Exchange) -> None:
        self._send = send
        self._exchange = exchange

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._exchange.status = message["status"]
            trace = (headers.TRACE.lower().encode(), self._exchange.trace_id.encode())
            message = {**message, "headers": [*message.get("headers", []), trace]}
        await self._send(message)


def _header(scope: Scope, name: str) -> str | None:
    wanted = name.lower().encode()
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == wanted), None)


def _trace_id(scope: Scope) -> str:
    given = _header(scope, headers.TRACE)
    return given if given and _TRACE_ID.fullmatch(given) else uuid.uuid4().hex


def _deadline(scope: Scope, default_ms: int) -> Deadline:
    given = _header(scope, headers.DEADLINE)
    if given is None:
        return Deadline.after_ms(default_ms)
    if not given.isdecimal() or len(given) > 9:
        raise MalformedRequest(f"{headers.DEADLINE} must be a whole number of milliseconds.")
    return Deadline.after_ms(int(given))


def _check_declared_length(scope: Scope, limit: int) -> None:
    declared = _header(scope, "content-length")
    if declared and declared.isdecimal() and int(declared) > limit:
        raise PayloadTooLarge(_too_large(limit))


def _too_large(limit: int) -> str:
    return f"The request body is larger than {limit // 2**20} MiB."
