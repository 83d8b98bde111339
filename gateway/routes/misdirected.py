"""Where clients of OpenAI's API knock with a wrong base address: they are told the right one, in their shape.

Their apps show a 404 without words as silence.
"""

from fastapi import Request
from starlette.responses import Response

from chassis.errors import NotFound
from chassis.http.bodies import Router
from gateway.routes.openai_errors import refused

router = Router(include_in_schema=False)

_BOTH = ["GET", "POST"]
_BASE = "The base address of this model ends in /v1 and in nothing after it"


@router.api_route("/{before:path}chat/completions", methods=_BOTH)
@router.api_route("/{before:path}chat/completions/", methods=_BOTH)
async def chat_elsewhere(request: Request) -> Response:
    """A base address without `/v1`, or with more than that."""
    return refused(NotFound(f"{_BASE}: chat is at /v1/chat/completions."), request.state.trace_id)


@router.get("/v1")
@router.get("/v1/")
@router.get("/{before:path}models")
@router.get("/{before:path}models/")
async def models_elsewhere(request: Request) -> Response:
    """The same, by a client that lists models first, or by a person who tries the address."""
    return refused(NotFound(f"{_BASE}: models are at /v1/models."), request.state.trace_id)


@router.post("/{before:path}responses")
@router.post("/{before:path}completions")
@router.post("/{before:path}messages")
async def other_api(request: Request) -> Response:
    """Another API of a model: OpenAI's Responses and plain completions, Anthropic's messages."""
    said = "This model speaks OpenAI's chat completions, at /v1/chat/completions, and no other API."
    return refused(NotFound(said), request.state.trace_id)
