"""Bodies of requests: what a route takes of JSON is counted while it comes in, whoever reads it then.

Who is refused is told at once; what it still sends is for the protocol to throw away.
"""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from python_multipart.multipart import parse_options_header
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.errors import MalformedRequest, UnsupportedMediaType
from chassis.json_text import JsonLimits, JsonShape, read_json

Value = TypeVar("Value")
Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])

_FORMS = (b"multipart/form-data", b"application/x-www-form-urlencoded")
_CHARSETS = (b"utf-8", b"utf8", b"us-ascii")
_READ_AT_ONCE = 2**14
"""Bytes that are read in less time than it takes to hand them to a thread."""
_LARGE_BODIES = RunVar[CapacityLimiter]("large_bodies")
_LIMITS, _OR_FORM = "_json_limits", "_or_form"
_USUAL = JsonLimits()


def takes_json(limits: JsonLimits, *, or_form: bool = False) -> Callable[[Handler], Handler]:
    """Says what the route under it takes of JSON, where it is not the usual `JsonLimits`.

    `or_form`: it looks at the content type itself, and reads forms in another way.
    """

    def declare(handler: Handler) -> Handler:
        setattr(handler, _LIMITS, limits)
        setattr(handler, _OR_FORM, or_form)
        return handler

    return declare


class BoundedBodies:
    """Middleware: every body but a form's is counted as JSON by the limits of the route that reads it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        bounded = _Bounded(scope, receive) if scope["type"] == "http" else receive
        await self._app(scope, bounded, send)


class _Bounded:
    """The messages of one request. The route is known once it reads the first one."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._shape: JsonShape | None = None
        self._begun = False

    async def __call__(self) -> Message:
        message = await self._receive()
        if not message.get("body"):
            return message
        if not self._begun:
            _check_encoding(_header(self._scope, b"content-encoding"))
            self._begun, self._shape = True, _shape_for(self._scope)
        if self._shape is not None:
            self._shape.feed(message["body"])
        return message


def _shape_for(scope: Scope) -> JsonShape | None:
    handler = getattr(scope.get("route"), "endpoint", None)
    limits: JsonLimits | None = getattr(handler, _LIMITS, None)
    if limits is None or getattr(handler, _OR_FORM):
        kind, parameters = parse_options_header(_header(scope, b"content-type"))
        if kind in _FORMS:
            _check_charset(parameters.get(b"charset", b"utf-8"))
            return None
    return JsonShape(limits or _USUAL)


def _header(scope: Scope, sought: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == sought), b"")


def _check_encoding(named: bytes) -> None:
    if named.strip().lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("Content-Encoding: bodies are read as they are; send it uncompressed.")


def _check_charset(named: bytes) -> None:
    """Starlette would read a form's fields by any codec of Python's: punycode takes 13 s for a megabyte."""
    if named.lower() not in _CHARSETS:
        raise MalformedRequest("charset: forms are UTF-8.")


async def read_body(request: Request, read: Callable[[bytes], Value]) -> Value:
    """The body, read by `read`: a large one in a thread, so that others are answered meanwhile.

    One at a time: reading takes up to eight times what arrived, and would be no quicker side by side, since
    Python's reader of JSON lets go of nothing while it reads.
    """
    return await read_bytes(await request.body(), read)


async def read_bytes(body: bytes, read: Callable[[bytes], Value]) -> Value:
    """As `read_body`, for JSON that is a part of a form."""
    if len(body) <= _READ_AT_ONCE:
        return read(body)
    return await anyio.to_thread.run_sync(read, body, limiter=_one_at_a_time())


def _one_at_a_time() -> CapacityLimiter:
    try:
        return _LARGE_BODIES.get()
    except LookupError:
        _LARGE_BODIES.set(limiter := CapacityLimiter(1))
        return limiter


class _StrictRequest(Request):
    async def json(self) -> Any:
        """The body's value. Raises `MalformedRequest`."""
        return await read_body(self, read_json)


class _StrictRoute(APIRoute):
    """FastAPI reads the JSON of its routes as strictly as we do that of ours."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


Router = partial(APIRouter, route_class=_StrictRoute)
"""The router of every app here; a test looks for others."""
