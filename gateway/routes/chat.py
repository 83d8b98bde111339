"""`POST /v1/chat/completions` and `GET /v1/models`: any OpenAI client can use the platform as a model.

The caller carries the conversation: the last user message is the question, the newest photo of the
conversation is what it is about, and the messages before it are the history.
"""

import base64
import binascii
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from chassis.errors import (
    ERROR_TABLE,
    ImageUrlNotAllowed,
    InvalidRequest,
    LoreglassError,
    MalformedRequest,
    PipelineNotFound,
    problem_of,
)
from chassis.http.app import RequestDeadline
from chassis.http.problems import problem_response
from chassis.resilience.deadlines import Deadline
from chassis.validation import first_fault
from contracts.answer import Answer, StageEvent
from contracts.chat import (
    MOST_MESSAGES,
    Annotation,
    ChatChunk,
    ChatCompletion,
    ChatMessage,
    ChatReply,
    ChatRequest,
    Choice,
    ChunkChoice,
    Model,
    Models,
    UrlCitation,
)
from gateway.planning.run import ignore_stage
from gateway.reasoning.refusals import is_refusal
from gateway.routes.dependencies import GatewayDep, caller_of
from gateway.routes.intake import allowed, checked_deadline_ms, photo_of, question_text
from gateway.routes.streaming import Begin, DataStream, Send, pieces
from gateway.routes.strict_json import read_json
from gateway.serving.execution import Admitted, Question
from gateway.serving.sessions.port import Session
from gateway.settings import GatewaySettings
from gateway.state import Turn
from gateway.wiring import Gateway

router = APIRouter(prefix="/v1")

_DONE = "[DONE]"


@router.get("/models")
async def list_models(gateway: GatewayDep) -> Models:
    """The pipelines, as models."""
    started = int(gateway.started_at)
    return Models(data=[Model(id=name, created=started) for name in sorted(gateway.execution.pipelines)])


@router.get("/models/{name}", response_model=Model)
async def show_model(name: str, request: Request, gateway: GatewayDep) -> Model | Response:
    """One pipeline, as a model."""
    if name not in gateway.execution.pipelines:
        error = PipelineNotFound("There is no pipeline of this name; GET /v1/models lists them.")
        return _refused(error, request.state.trace_id)
    return Model(id=name, created=int(gateway.started_at))


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": ChatRequest.model_json_schema()}},
        }
    },
)
async def complete_chat(
    request: Request, gateway: GatewayDep, exchange: RequestDeadline
) -> ChatCompletion | Response:
    """Answer the last question of a conversation, in OpenAI's shape."""
    trace_id: str = request.state.trace_id
    received = Deadline.after_ms(0)
    try:
        caller = await caller_of(request, gateway)  # here, so that a refusal has OpenAI's shape too
        asked = await anyio.to_thread.run_sync(_request, await request.body())
        deadline_ms = checked_deadline_ms(asked.deadline_ms, gateway.settings)
        deadline = Deadline(min(received.at + deadline_ms / 1000, exchange.at))
        question = replace(await _question(asked, gateway, deadline_ms, deadline), caller=caller)
        admitted = await gateway.execution.admit(question)
        if asked.stream:
            return _stream(gateway, admitted, trace_id, deadline)
        answer = await gateway.execution.answer(admitted, trace_id, deadline, ignore_stage)
    except LoreglassError as error:
        return _refused(error, trace_id)
    return _completion(answer, admitted.pipeline.name)


def _request(body: bytes) -> ChatRequest:
    """Blocking: photos in base64 take tens of milliseconds to read."""
    try:
        return ChatRequest.model_validate(read_json(body))
    except ValidationError as error:
        raise InvalidRequest(first_fault(error)) from error


async def _question(asked: ChatRequest, gateway: Gateway, deadline_ms: int, deadline: Deadline) -> Question:
    experiment = allowed(asked.experiment, gateway.settings)
    last = asked.messages[-1]
    if last.role != "user":
        raise InvalidRequest("messages: the last one must be the user's.")
    text = question_text(last.text, gateway.settings)
    sent = [uri for message in asked.messages for uri in message.photos]
    photo = None
    if sent:
        data = await anyio.to_thread.run_sync(_photo_bytes, sent[-1])
        photo = await photo_of(data, gateway.settings, gateway.photo_slots, deadline, gateway.photo_decoded)
    is_new = bool(last.photos)
    newest = asked.messages[-MOST_MESSAGES:-1]
    carried = Session("", None if is_new else photo, tuple(_turns(newest, gateway.settings)))
    return Question(
        text=text,
        photo=photo if is_new else None,
        session_id=None,
        deadline_ms=deadline_ms,
        pipeline=asked.model,
        carried=carried,
        shortened=len(asked.messages) > MOST_MESSAGES,
        experiment=experiment,
    )


def _photo_bytes(uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise ImageUrlNotAllowed("Send the photo as a data: URI with base64; URLs are not fetched.")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedRequest("The photo's data: URI is not valid base64.") from error


def _turns(messages: Sequence[ChatMessage], settings: GatewaySettings) -> Iterator[Turn]:
    """The user's messages with the reply that came next; what nobody replied to is no turn.

    Each is cut where a question would be too long: readers take more than linear time.
    """
    longest = settings.max_question_chars
    for message, reply in pairwise(messages):
        if (message.role, reply.role) == ("user", "assistant"):
            said = reply.text[:longest]
            yield Turn(message.text[:longest], said, is_refusal(said))


def _completion(answer: Answer, model: str) -> ChatCompletion:
    whole = len(answer.answer)
    sources = [
        Annotation(url_citation=UrlCitation(url=each.url, title=each.title, start_index=0, end_index=whole))
        for each in answer.citations
    ]
    return ChatCompletion(
        id=_id(answer.trace_id),
        created=int(time.time()),
        model=model,
        choices=[Choice(message=ChatReply(content=answer.answer, annotations=sources))],
        loreglass=answer,
    )


def _stream(gateway: Gateway, admitted: Admitted, trace_id: str, deadline: Deadline) -> DataStream:
    async def produce(send: Send, begin: Begin) -> None:
        async def on_stage(_: StageEvent) -> None:
            await begin()

        answer = await gateway.execution.answer(admitted, trace_id, deadline, on_stage)
        for chunk in _chunks(answer, admitted.pipeline.name):
            await send(chunk)
        await send(_DONE)

    return DataStream(
        produce, lambda error: _refused(error, trace_id), lambda error: _Failure(error=_openai_error(error))
    )


class _Failure(BaseModel):
    """What OpenAI's clients raise when it comes in a stream."""

    error: dict[str, Any]


def _chunks(answer: Answer, model: str) -> Iterator[ChatChunk]:
    whole = _completion(answer, model)
    said = whole.choices[0].message

    def chunk(choice: ChunkChoice, body: Answer | None = None) -> ChatChunk:
        return ChatChunk(id=whole.id, created=whole.created, model=model, choices=[choice], loreglass=body)

    yield chunk(ChunkChoice(delta={"role": "assistant", "content": ""}))
    for piece in pieces(said.content):
        yield chunk(ChunkChoice(delta={"content": piece}))
    sources = [each.model_dump() for each in said.annotations]
    yield chunk(ChunkChoice(delta={"annotations": sources} if sources else {}, finish_reason="stop"), answer)


def _id(trace_id: str) -> str:
    return f"chatcmpl-{trace_id}"


def _refused(error: LoreglassError, trace_id: str) -> Response:
    return problem_response(error, trace_id, error=_openai_error(error))


def _openai_error(error: LoreglassError) -> dict[str, Any]:
    """The member that OpenAI's clients read, beside the problem+json that ours do."""
    body = problem_of(error)
    kind = "server_error" if ERROR_TABLE[error.kind].status >= 500 else "invalid_request_error"
    return {"message": body.detail, "type": kind, "param": None, "code": error.kind.value}
