"""Errors to problem+json replies: one place for ours, FastAPI's and Starlette's."""

import json
import math

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chassis.errors import (
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
from chassis.resilience.room import is_full, storage_full
from chassis.validation import fault

PROBLEM_JSON = "application/problem+json"
_PROBLEM_KIND = "problem_kind"

_BY_STATUS: dict[int, type[LoreglassError]] = {
    400: MalformedRequest,
    404: NotFound,
    405: MethodNotAllowed,
    413: PayloadTooLarge,
    415: UnsupportedMediaType,
    422: InvalidRequest,
}


def note_problem(scope: Scope, error: LoreglassError) -> None:
    """Note the error for the log and the metrics, whatever the status of the reply."""
    scope.setdefault("state", {})[_PROBLEM_KIND] = error.kind.value


def read_problem_kind(scope: Scope) -> str:
    """The kind of error that was noted, empty without one."""
    noted: str = scope.get("state", {}).get(_PROBLEM_KIND, "")
    return noted


class _ProblemResponse(Response):
    """Whoever sends it, a route or a handler, it is noted."""

    media_type = PROBLEM_JSON

    def __init__(self, error: LoreglassError, body: str, headers: dict[str, str]) -> None:
        super().__init__(body, error.status, headers)
        self._error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        note_problem(scope, self._error)
        await super().__call__(scope, receive, send)


def problem_response(error: LoreglassError, trace_id: str | None, /, **extensions: object) -> Response:
    """The reply for an error; `extensions` are further members of the body (RFC 9457, section 3.2)."""
    headers = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    body = json.dumps({**problem_of(error, trace_id).model_dump(exclude_none=True), **extensions})
    return _ProblemResponse(error, body, headers)


def install_problem_handlers(app: FastAPI) -> None:
    """Make every error of `app` a problem+json; unexpected ones are the exchange middleware's."""

    async def handle(request: Request, error: Exception) -> Response:
        reply = problem_response(_translate(error), getattr(request.state, "trace_id", None))
        if isinstance(error, HTTPException) and error.headers:
            reply.headers.update(error.headers)  # a 405 says which methods are allowed
        return reply

    for kind in (LoreglassError, RequestValidationError, HTTPException, OSError):
        app.add_exception_handler(kind, handle)


def _translate(error: Exception) -> LoreglassError:
    """Raises `error` if it is unexpected."""
    match error:
        case LoreglassError():
            return error
        case RequestValidationError():
            return _from_validation(error)
        case HTTPException(__cause__=LoreglassError() as cause):  # FastAPI wraps what reading a body raises
            return cause
        case HTTPException():
            return _BY_STATUS.get(error.status_code, MalformedRequest)()
        case OSError() if is_full(error):
            return storage_full()
    raise error


def _from_validation(error: RequestValidationError) -> LoreglassError:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return MalformedRequest("The body is not valid JSON.")
    entry = first["loc"][1:] or ("body",)  # the first part is body, query or path
    return InvalidRequest(f"{fault(entry, first['type'], first['msg'])}.")
