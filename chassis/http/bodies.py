"""Bodies of requests: JSON is limited while it is received, before parsing; forms are read within limits.

A request is refused at once; the protocol throws away what the caller still sends. A request that may bring a
photo is JSON, or a form with the same JSON in `request` and a file in `image`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response
from starlette.types import Message, Receive

from chassis.errors import InvalidRequest, MalformedRequest, PayloadTooLarge, UnsupportedMediaType
from chassis.json_text import JsonLimits, JsonShape, read_json
from chassis.validation import inlined_schema, validate

Value = TypeVar("Value")
Body = TypeVar("Body", bound=BaseModel)
Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])

_FORMS = (b"multipart/form-data", b"application/x-www-form-urlencoded")
_CHARSETS = (b"utf-8", b"utf8", b"us-ascii")
_READ_AT_ONCE = 2**14
"""Bytes that are read in less time than it takes to hand them to a thread."""
_LARGE_BODIES = RunVar[CapacityLimiter]("large_bodies")
_LIMITS, _OR_FORM = "_json_limits", "_or_form"
_REQUEST, _IMAGE = "request", "image"
_LONGEST_TEXT = 2**20
_LIMIT_MESSAGES = ("Too many", "exceeded maximum size")
"""In Starlette's messages about forms that are too large."""


def takes_json(limits: JsonLimits, *, or_form: bool = False) -> Callable[[Handler], Handler]:
    """Says what the route under it takes of JSON, where it is not the usual `JsonLimits`.

    `or_form`: it looks at the content type itself, and reads forms in another way.
    """

    def declare(handler: Handler) -> Handler:
        setattr(handler, _LIMITS, limits)
        setattr(handler, _OR_FORM, or_form)
        return handler

    return declare


def _receive_within_limits(request: Request, handler: Callable[..., Any]) -> Receive:
    """Return a `receive` that counts every body but a form's as JSON, by the limits of the route.

    `request` must not be the one that reads the body: the two would refer to each other, and the body would
    stay in memory until the garbage collector finds them.
    """
    receive, first, shape = request.receive, True, None

    async def receive_counting() -> Message:
        nonlocal first, shape
        message = await receive()
        if message.get("body"):
            if first:
                first, shape = False, _shape_of(request, handler)
            if shape is not None:
                shape.feed(message["body"])
        return message

    return receive_counting


def _shape_of(request: Request, handler: Callable[..., Any]) -> JsonShape | None:
    """Return the counter of the route's JSON; None for a form. Raises `UnsupportedMediaType`."""
    if request.headers.get("content-encoding", "").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("Content-Encoding: bodies are read as they are; send it uncompressed.")
    limits: JsonLimits | None = getattr(handler, _LIMITS, None)
    if limits is None or getattr(handler, _OR_FORM):
        kind, parameters = parse_options_header(request.headers.get("content-type"))
        if kind in _FORMS:
            # Starlette would read a form by any codec of Python's: punycode takes 13 s for a megabyte.
            if parameters.get(b"charset", b"utf-8").lower() not in _CHARSETS:
                raise MalformedRequest("charset: forms are UTF-8.")
            return None
    return JsonShape(limits or JsonLimits())


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
    """A route whose body is within limits, and whose JSON FastAPI reads as strictly as we do."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, _receive_within_limits(request, self.endpoint)))

        return handle_strictly


Router = partial(APIRouter, route_class=_StrictRoute)
"""The router of every app here; a test looks for others."""


class _Parser(MultiPartParser):
    """`ended`: whether the last boundary was received. Starlette drops an incomplete part silently."""

    ended = False

    def on_end(self) -> None:
        self.ended = True

    def close(self) -> None:
        """Close all files, also that of an incomplete part."""
        for file in self._files_to_close_on_error:
            file.close()


def media_type_of(request: Request) -> str:
    """Return the request's media type without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def read_form(
    request: Request, *, max_files: int, max_fields: int, max_part_size: int = 2**20
) -> AsyncIterator[FormData]:
    """Yield the form, and close its files afterwards. `max_part_size`: bytes of a text part.

    Raises `UnsupportedMediaType`, `PayloadTooLarge`, or `MalformedRequest` for a broken or incomplete form.
    """
    if media_type_of(request) != "multipart/form-data":
        raise UnsupportedMediaType("Send multipart/form-data.")
    async with aclosing(request.stream()) as stream:
        parser = _Parser(
            request.headers, stream, max_files=max_files, max_fields=max_fields, max_part_size=max_part_size
        )
        try:
            form = await parser.parse()
        except MultiPartException as error:
            if any(words in error.message for words in _LIMIT_MESSAGES):
                raise PayloadTooLarge("The form has too many parts, or one that is too long.") from error
            raise MalformedRequest("The form could not be read.") from error
    try:
        if not parser.ended:
            raise MalformedRequest("The form is incomplete: its last boundary is missing. Send it again.")
        yield form
    finally:
        parser.close()


def pictured_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Both kinds of body, for the OpenAPI document."""
    in_json = inlined_schema(model)
    in_form = {
        "type": "object",
        "properties": {_REQUEST: in_json, _IMAGE: {"type": "string", "format": "binary"}},
        "required": [_REQUEST],
        "additionalProperties": False,
    }
    content = {"application/json": {"schema": in_json}, "multipart/form-data": {"schema": in_form}}
    return {"requestBody": {"required": True, "content": content}}


async def read_pictured(request: Request, model: type[Body], limits: JsonLimits) -> tuple[Body, bytes | None]:
    """Return the request and the bytes of its photo, if it has one.

    Raises `MalformedRequest`, `InvalidRequest`, `PayloadTooLarge` or `UnsupportedMediaType`.
    """
    kind = media_type_of(request)
    if kind == "application/json":
        return await read_body(request, partial(_parse, model)), None
    if kind == "multipart/form-data":
        body, image = await _read_form(request, limits.max_bytes or _LONGEST_TEXT)
        return await read_bytes(body, partial(_parse, model, limits=limits)), image
    raise UnsupportedMediaType("Send application/json or multipart/form-data.")


async def _read_form(request: Request, longest_text: int) -> tuple[bytes, bytes | None]:
    async with read_form(request, max_files=2, max_fields=2, max_part_size=longest_text) as form:
        _check_names(form)
        part = form[_REQUEST]
        body = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else await part.read()
        return body, await _photo(form)


def _check_names(form: FormData) -> None:
    for name in form:
        if name not in (_REQUEST, _IMAGE):
            raise InvalidRequest(f'Unknown part "{name[:40]}". Use "{_REQUEST}" or "{_IMAGE}".')
        if len(form.getlist(name)) > 1:
            raise InvalidRequest(f"{name}: must be given once.")
    if _REQUEST not in form:
        raise InvalidRequest(f"{_REQUEST}: this part is missing.")


async def _photo(form: FormData) -> bytes | None:
    part = form.get(_IMAGE)
    if isinstance(part, str):
        raise InvalidRequest(f"{_IMAGE}: must be a file part.")
    return await part.read() if part else None


def _parse(model: type[Body], body: bytes, limits: JsonLimits | None = None) -> Body:
    """Blocking."""
    return validate(model, read_json(body, limits))
