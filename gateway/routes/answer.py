"""`POST /answer`, the platform's main route, and what belongs to its answers: sessions and traces."""

from typing import Any

from fastapi import Request, status
from starlette.responses import Response

from chassis.errors import problem_of
from chassis.http.bodies import Router, takes_json
from chassis.http.problems import problem_response
from chassis.resilience.deadlines import Deadline
from chassis.validation import inlined_schema
from contracts import headers
from contracts.answer import (
    Answer,
    AnswerRequest,
    Experiment,
    IdentifiedEvent,
    MemoryInput,
    StageEvent,
    TokenEvent,
    Trace,
    TranscriptEvent,
)
from gateway.planning.run import OnEvent, RunEvent, ignore_events
from gateway.routes.intake import JSON_LIMITS, CallerDep, GatewayDep, caller_of, gateway_of, read_question
from gateway.routes.streaming import Emit, EventStream, pieces
from gateway.serving.idempotency import idempotency_key

router = Router()

_EVENTS = {StageEvent: "stage", TranscriptEvent: "transcript", IdentifiedEvent: "identified"}


def _body_schema() -> dict[str, Any]:
    """Return both forms of the request body, for the OpenAPI document."""
    in_json = inlined_schema(AnswerRequest)
    in_parts = {
        "image": {"type": "string", "format": "binary"},
        "audio": {"type": "string", "format": "binary"},
        "experiment": {**inlined_schema(Experiment), "description": "As JSON text."},
        "memory": {**inlined_schema(MemoryInput), "description": "As JSON text."},
    }
    in_form = {**in_json, "properties": {**in_json["properties"], **in_parts}}
    content = {"multipart/form-data": {"schema": in_form}, "application/json": {"schema": in_json}}
    return {"requestBody": {"required": True, "content": content}}


_KEY_SCHEMA = {
    "name": headers.IDEMPOTENCY_KEY.lower(),
    "in": "header",
    "required": False,
    "schema": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Idempotency-Key"},
}


# Takes the bare request and returns the bare response: FastAPI's dependencies, and a second validation of the
# answer, would cost as much as all planning of a question.
@router.post("/answer", response_model=Answer, openapi_extra={**_body_schema(), "parameters": [_KEY_SCHEMA]})
@takes_json(JSON_LIMITS, or_form=True)
async def answer(request: Request) -> Response:
    """Answer a question about a photo, with sources, or refuse honestly.

    With `Accept: text/event-stream` the reply is a stream of events: `stage`, `transcript`, `identified`,
    `citation`, `token`, and the answer as `final`, or `error`. It starts when the question is admitted; a
    question that is not gets a 503. With an `Idempotency-Key` the question is answered even if the client
    disconnects, and the same request with the same key gets the same answer.
    """
    gateway, exchange = await gateway_of(request), request.state.deadline
    caller = await caller_of(request, gateway)
    key = idempotency_key(request.headers.get(headers.IDEMPOTENCY_KEY))
    received = Deadline.after_ms(0)
    question = await read_question(request, gateway, caller, received)
    deadline = Deadline(min(received.at + question.deadline_ms / 1000, exchange.at))
    trace_id: str = request.state.trace_id

    async def run(on_event: OnEvent) -> tuple[Answer, bool]:
        """Return the answer, and whether it is the one of an earlier request with this key."""

        async def work() -> Answer:
            admitted = await gateway.execution.admit(question)
            return await gateway.execution.answer(admitted, trace_id, deadline, on_event)

        if key is None:
            return await work(), False
        # An answer may quote a memory, and somebody else's key may be the same.
        scoped_key = key if question.memory is None else f"{key} {question.memory.id}"
        name, place = (caller.tenant, scoped_key), request.state.place
        return await gateway.idempotency.once(name, question.digest, deadline, work, place)

    async def produce(emit: Emit) -> None:
        connected = True

        async def on_event(event: RunEvent) -> None:
            if connected:  # with a key, the work goes on after the client has disconnected
                await emit(_EVENTS[type(event)], event)

        try:
            body, _ = await run(on_event)
        finally:
            connected = False
        for citation in body.citations:
            await emit("citation", citation)
        for piece in pieces(body.answer):
            await emit("token", TokenEvent(text=piece))
        await emit("final", body)

    if "text/event-stream" in request.headers.get("accept", ""):
        return EventStream(
            produce,
            lambda error: problem_response(error, trace_id),
            lambda error: problem_of(error, trace_id),
        )
    body, replayed = await run(ignore_events)
    extra = {headers.REPLAYED: "true"} if replayed else None
    return Response(body.model_dump_json(), headers=extra, media_type="application/json")


@router.delete("/sessions/{session_id}", status_code=status.HTTP_204_NO_CONTENT)
async def delete_session(
    session_id: str, gateway: GatewayDep, caller: CallerDep, keep_memory: bool = False
) -> None:
    """Delete a conversation and its photo, and what was remembered in it unless `keep_memory`."""
    if gateway.execution.memory is not None and not keep_memory:
        await gateway.execution.memory.forget_session(session_id, caller.tenant)
    await gateway.execution.sessions.delete(session_id, caller.tenant)


@router.get("/traces/{trace_id}")
async def get_trace(trace_id: str, gateway: GatewayDep, caller: CallerDep) -> Trace:
    """Return what happened to one request, stage by stage."""
    return await gateway.execution.traces.get(trace_id, caller.tenant)
