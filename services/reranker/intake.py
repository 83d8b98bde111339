"""Both forms of a rerank request: JSON, or a form that holds the same JSON and a photo."""

from typing import Any

import anyio.to_thread
from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from chassis.errors import InvalidRequest, UnsupportedMediaType
from chassis.http.bodies import read_body
from chassis.http.forms import read_form
from chassis.json_text import JsonLimits, read_json
from chassis.validation import first_fault, inlined_schema
from contracts.reranker import RerankRequest

JSON_LIMITS = JsonLimits(max_bytes=16 * 2**20, max_items=2_048)
_REQUEST = "request"
_IMAGE = "image"
_LONGEST_TEXT_PART = 16 * 2**20


def body_schema() -> dict[str, Any]:
    """Both forms, for the OpenAPI document."""
    in_json = inlined_schema(RerankRequest)
    in_form = {
        "type": "object",
        "properties": {_REQUEST: in_json, _IMAGE: {"type": "string", "format": "binary"}},
        "required": [_REQUEST],
        "additionalProperties": False,
    }
    content = {"application/json": {"schema": in_json}, "multipart/form-data": {"schema": in_form}}
    return {"requestBody": {"required": True, "content": content}}


async def read_call(request: Request) -> tuple[RerankRequest, bytes | None]:
    """The request and the bytes of its photo, if it has one.

    Raises `MalformedRequest`, `InvalidRequest`, `PayloadTooLarge` or `UnsupportedMediaType`.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        return await read_body(request, _parsed), None
    if kind == "multipart/form-data":
        body, image = await _read_form(request)
        return await anyio.to_thread.run_sync(_parsed, body, JSON_LIMITS), image
    raise UnsupportedMediaType("Send application/json or multipart/form-data.")


async def _read_form(request: Request) -> tuple[bytes, bytes | None]:
    async with read_form(request, max_files=2, max_fields=2, max_part_size=_LONGEST_TEXT_PART) as form:
        _check_names(form)
        body = await _content(form[_REQUEST])
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


async def _content(part: str | UploadFile) -> bytes:
    return part.encode("utf-8", "surrogatepass") if isinstance(part, str) else await part.read()


def _parsed(body: bytes, limits: JsonLimits | None = None) -> RerankRequest:
    """Blocking."""
    try:
        return RerankRequest.model_validate(read_json(body, limits))
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}.") from error
