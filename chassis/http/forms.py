"""Read multipart forms within limits, and requests that may bring a photo.

Such a request is JSON, or a form with the same JSON in `request` and a file in `image`. Incomplete forms are
refused.
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from chassis.errors import InvalidRequest, MalformedRequest, PayloadTooLarge, UnsupportedMediaType
from chassis.http.bodies import read_body, read_bytes
from chassis.json_text import JsonLimits, read_json
from chassis.validation import inlined_schema, validated

Body = TypeVar("Body", bound=BaseModel)

_REQUEST, _IMAGE = "request", "image"
_LONGEST_TEXT = 2**20

_LIMIT_MESSAGES = ("Too many", "exceeded maximum size")
"""In Starlette's messages about forms that are too large."""


class _Parser(MultiPartParser):
    """`ended`: whether the last boundary was received. Starlette drops an incomplete part silently."""

    ended = False

    def on_end(self) -> None:
        self.ended = True

    def close(self) -> None:
        """Close all files, also that of an incomplete part."""
        for file in self._files_to_close_on_error:
            file.close()


@asynccontextmanager
async def read_form(
    request: Request, *, max_files: int, max_fields: int, max_part_size: int = 2**20
) -> AsyncIterator[FormData]:
    """Yield the form, and close its files afterwards. `max_part_size`: bytes of a text part.

    Raises `PayloadTooLarge`, or `MalformedRequest` if the form is invalid or incomplete.
    """
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
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
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
            raise InvalidRequest(f"{name[:40]}: there is no such part.")
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
    return validated(model, read_json(body, limits))
