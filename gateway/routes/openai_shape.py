"""Errors in OpenAI's shape, and hints for clients with a wrong base address."""

from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from chassis.errors import LoreglassError, NotFound, QuotaExceeded, problem_of
from chassis.http.bodies import Router
from chassis.http.problems import problem_response

wrong_addresses = Router(include_in_schema=False)
"""Matches after all other routes."""

_BOTH = ["GET", "POST"]
_BASE = "The base address of this model ends in /v1 and in nothing after it"


def install_openai_errors(app: FastAPI) -> None:
    """Add the member that OpenAI's clients read to the errors of `/v1/…`."""

    async def handle(request: Request, error: Exception) -> Response:
        assert isinstance(error, LoreglassError)
        trace_id: str = request.state.trace_id
        if request.url.path.startswith("/v1/"):
            return openai_refusal(error, trace_id)
        return problem_response(error, trace_id)

    app.add_exception_handler(LoreglassError, handle)


def openai_refusal(error: LoreglassError, trace_id: str) -> Response:
    """Return a problem+json reply with the member that OpenAI's clients read."""
    return problem_response(error, trace_id, error=openai_error(error))


def openai_error(error: LoreglassError) -> dict[str, Any]:
    """Return an error as OpenAI's clients read it."""
    body = problem_of(error)
    kind = "server_error" if error.status >= 500 else "invalid_request_error"
    if isinstance(error, QuotaExceeded):
        kind = "rate_limit_error"
    return {"message": body.detail, "type": kind, "param": None, "code": error.kind.value}


# Apps show a 404 without a message as silence. These routes say which address is right.


@wrong_addresses.api_route("/{before:path}chat/completions", methods=_BOTH)
@wrong_addresses.api_route("/{before:path}chat/completions/", methods=_BOTH)
async def chat_elsewhere(request: Request) -> Response:
    """A base address without `/v1`, or with more than that."""
    return openai_refusal(NotFound(f"{_BASE}: chat is at /v1/chat/completions."), request.state.trace_id)


@wrong_addresses.get("/v1")
@wrong_addresses.get("/v1/")
@wrong_addresses.get("/{before:path}models")
@wrong_addresses.get("/{before:path}models/")
async def models_elsewhere(request: Request) -> Response:
    """The same for a client that lists models first, or for a person who tries the address."""
    return openai_refusal(NotFound(f"{_BASE}: models are at /v1/models."), request.state.trace_id)


@wrong_addresses.post("/{before:path}responses")
@wrong_addresses.post("/{before:path}completions")
@wrong_addresses.post("/{before:path}messages")
async def other_api(request: Request) -> Response:
    """Another API of a model: OpenAI's Responses and plain completions, Anthropic's messages."""
    detail = "This model speaks OpenAI's chat completions, at /v1/chat/completions, and no other API."
    return openai_refusal(NotFound(detail), request.state.trace_id)
