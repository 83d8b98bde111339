"""`POST /answer`: the platform's main job."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from fastapi import Request
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
    StageEvent,
    TokenEvent,
    TranscriptEvent,
)
from gateway.planning.run import OnEvent, RunEvent, ignore_events
from gateway.routes.dependencies import caller_of, gateway_of
from gateway.routes.intake import JSON_LIMITS, read_question
from gateway.routes.streaming import Emit, EventStream, pieces
from gateway.serving.execution import Question
from gateway.serving.idempotency import checked_key
from gateway.wiring import Gateway

router = Router()

_EVENTS = {StageEvent: "stage", TranscriptEvent: "transcript", IdentifiedEvent: "identified"}


def _body_schema() -> dict[str, Any]:
    """Both forms of the request body, for the OpenAPI document."""
    in_json = inlined_schema(AnswerRequest)
    in_parts = {
        "image": {"type": "string", "format": "binary"},
        "audio": {"type": "string", "format": "binary"},
        "experiment": {**inlined_schema(Experiment), "description": "As JSON text."},
    }
    in_form = {**in_json, "properties": {**in_json["properties"], **in_parts}}
    content = {"multipart/form-data": {"schema": in_form}, "application/json": {"schema": in_json}}
    return {"requestBody": {"required": True, "content": content}}


# The route takes the bare request and gives the bare reply: to resolve dependencies and to validate an answer
# that is one already, costs as much as the question's whole planning.
_KEY_SCHEMA = {
    "name": headers.IDEMPOTENCY_KEY.lower(),
    "in": "header",
    "required": False,
    "schema": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Idempotency-Key"},
}


@router.post("/answer", response_model=Answer, openapi_extra={**_body_schema(), "parameters": [_KEY_SCHEMA]})
@takes_json(JSON_LIMITS, or_form=True)
async def answer(request: Request) -> Response:
    """Answer a question about a photo, with sources, or say honestly that it is not known.

    With `Accept: text/event-stream` the same body comes as the last of a stream of events: `stage`,
    `citation`, `token`, then `final` or `error`. It begins once the question is let in; one that is not
    gets the same 503 as without a stream. With an `Idempotency-Key` the question is worked on to its end even
    if the caller leaves, and sent again under its key it gets the same answer.
    """
    gateway, exchange = await gateway_of(request), request.state.deadline
    caller = await caller_of(request, gateway)
    key = checked_key(request.headers.get(headers.IDEMPOTENCY_KEY))
    received = Deadline.after_ms(0)
    question = await read_question(request, gateway, caller, received)
    deadline = Deadline(min(received.at + question.deadline_ms / 1000, exchange.at))
    asking = _Asking(gateway, question, key, request.state.trace_id, deadline, request.state.place)
    if "text/event-stream" in request.headers.get("accept", ""):
        return _stream(asking)
    body, again = await asking.answer(ignore_events)
    told = {headers.REPLAYED: "true"} if again else None
    return Response(body.model_dump_json(), headers=told, media_type="application/json")


@dataclass(frozen=True, slots=True)
class _Asking:
    """A question on its way, under the key that it was sent with. `place`: its tenant's, in flight."""

    gateway: Gateway
    question: Question
    key: str | None
    trace_id: str
    deadline: Deadline
    place: ExitStack

    async def answer(self, on_event: OnEvent) -> tuple[Answer, bool]:
        """The answer, and whether it was asked for before."""

        async def work() -> Answer:
            admitted = await self.gateway.execution.admit(self.question)
            return await self.gateway.execution.answer(admitted, self.trace_id, self.deadline, on_event)

        if self.key is None:
            return await work(), False
        name = self.question.caller.tenant, self.key
        return await self.gateway.idempotency.once(
            name, self.question.digest, self.deadline, work, self.place
        )


def _stream(asking: _Asking) -> EventStream:
    async def produce(emit: Emit) -> None:
        listening = True

        async def on_event(event: RunEvent) -> None:
            if listening:  # under a key the work goes on when nobody is there any more
                await emit(_EVENTS[type(event)], event)

        try:
            body, _ = await asking.answer(on_event)
        finally:
            listening = False
        for citation in body.citations:
            await emit("citation", citation)
        for piece in pieces(body.answer):
            await emit("token", TokenEvent(text=piece))
        await emit("final", body)

    trace_id = asking.trace_id
    return EventStream(
        produce, lambda error: problem_response(error, trace_id), lambda error: problem_of(error, trace_id)
    )
