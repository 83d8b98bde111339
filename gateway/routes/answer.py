"""`POST /answer`: the platform's main job."""

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from chassis.errors import problem_of
from chassis.http.app import RequestDeadline
from chassis.http.problems import problem_response
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, AnswerRequest, StageEvent, TokenEvent
from gateway.planning.run import ignore_stage
from gateway.routes.dependencies import CallerDep, GatewayDep
from gateway.routes.intake import read_question
from gateway.routes.streaming import Emit, EventStream, pieces
from gateway.serving.execution import Admitted
from gateway.wiring import Gateway

router = APIRouter()

_OWN_SHAPES = {"image": "ImageInput", "experiment": "Experiment", "audio": "AudioInput"}


def _body_schema() -> dict[str, Any]:
    """Both forms of the request body, for the OpenAPI document."""
    in_json = AnswerRequest.model_json_schema()
    kinds = in_json.pop("$defs")
    for name, kind in _OWN_SHAPES.items():
        in_json["properties"][name] = {"anyOf": [kinds[kind], {"type": "null"}], "default": None}
    in_parts = {
        "image": {"type": "string", "format": "binary"},
        "audio": {"type": "string", "format": "binary"},
        "experiment": {**kinds["Experiment"], "description": "As JSON text."},
    }
    in_form = {**in_json, "properties": {**in_json["properties"], **in_parts}}
    content = {"multipart/form-data": {"schema": in_form}, "application/json": {"schema": in_json}}
    return {"requestBody": {"required": True, "content": content}}


@router.post("/answer", response_model=Answer, openapi_extra=_body_schema())
async def answer(
    request: Request, gateway: GatewayDep, caller: CallerDep, exchange: RequestDeadline
) -> Answer | Response:
    """Answer a question about a photo, with sources, or say honestly that it is not known.

    With `Accept: text/event-stream` the same body comes as the last of a stream of events: `stage`,
    `citation`, `token`, then `final` or `error`. It begins once the question is let in; one that is not
    gets the same 503 as without a stream.
    """
    received = Deadline.after_ms(0)
    asked = await read_question(request, gateway, received)
    question = replace(asked, caller=caller)
    deadline = Deadline(min(received.at + question.deadline_ms / 1000, exchange.at))
    admitted = await gateway.execution.admit(question)
    trace_id: str = request.state.trace_id
    if "text/event-stream" in request.headers.get("accept", ""):
        return _stream(gateway, admitted, trace_id, deadline)
    return await gateway.execution.answer(admitted, trace_id, deadline, ignore_stage)


def _stream(gateway: Gateway, admitted: Admitted, trace_id: str, deadline: Deadline) -> EventStream:
    async def produce(emit: Emit) -> None:
        async def on_stage(event: StageEvent) -> None:
            await emit("stage", event)

        body = await gateway.execution.answer(admitted, trace_id, deadline, on_stage)
        for citation in body.citations:
            await emit("citation", citation)
        for piece in pieces(body.answer):
            await emit("token", TokenEvent(text=piece))
        await emit("final", body)

    return EventStream(
        produce, lambda error: problem_response(error, trace_id), lambda error: problem_of(error, trace_id)
    )
