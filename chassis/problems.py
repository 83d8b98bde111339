"""Errors to problem+json replies: one place for ours, FastAPI's and Starlette's."""

import json
import math

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from chassis.errors import (
    ERROR_TABLE,
    InvalidRequest,
    LoreglassError,
    MalformedRequest,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    Unauthorized,
    UnsupportedMediaType,
    problem_of,
)

PROBLEM_JSON = "application/problem+json"
PROBLEM_KIND = "problem_kind"
"""Where a request's state says how it ended, for the log and the metrics."""

_BY_STATUS: dict[int, type[LoreglassError]] = {
    400: MalformedRequest,
    404: NotFound,
    405: MethodNotAllowed,
    413: PayloadTooLarge,
    415: UnsupportedMediaType,
    422: InvalidRequest,
}


def problem_response(error: LoreglassError, trace_id: str | None, /, **extensions: object) -> Response:
    """The reply for an error; `extensions` are further members of the body (RFC 9457, section 3.2)."""
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        json.dumps({**problem_of(error, trace_id).model_dump(exclude_none=True), **extensions}),
        status_code=ERROR_TABLE[error.kind].status,
        media_type=PROBLEM_JSON,
        headers=headers,
    )


def install_problem_handlers(app: FastAPI) -> None:
    """Make every error of `app` a problem+json; unexpected ones are the exchange middleware's."""

    async def handle(request: Request, error: Exception) -> Response:
        problem = _translate(error)
        setattr(request.state, PROBLEM_KIND, problem.kind.value)
        reply = problem_response(problem, getattr(request.state, "trace_id", None))
        if isinstance(error, HTTPException) and error.headers:
            reply.headers.update(error.headers)  # a 405 says which methods are allowed
        return reply

    for kind in (LoreglassError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, handle)


def _translate(error: Exception) -> LoreglassError:
    if isinstance(error, LoreglassError):
        return error
    if isinstance(error, RequestValidationError):
        return _from_validation(error)
    if isinstance(error, HTTPException):
        kind = _BY_STATUS.get(error.status_code, MalformedRequest)
        return kind()
    raise TypeError(type(error))


def _from_validation(error: RequestValidationError) -> LoreglassError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])  # the first part is body, query or path
    if first["type"] == "json_invalid":
        return MalformedRequest("The body is not valid JSON.")
    return InvalidRequest(f"{where or 'body'}: {first['msg']}")
