"""`POST /v1/chat/completions` and `GET /v1/models`: any OpenAI client can use the platform as a model.

The client sends the whole conversation (`chat_intake`). What is cut or ignored is named in `degraded`.
Errors have OpenAI's shape, and a wrong base address is told the right one.
"""

import json
import math
import time
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from chassis.errors import (
    LoreglassError,
    NotFound,
    PipelineNotFound,
    QuotaExceeded,
    UnsupportedMediaType,
    problem_of,
)
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router, media_type_of, read_body, takes_json
from chassis.http.problems import problem_response
from chassis.json_text import JsonLimits
from chassis.resilience.deadlines import Deadline
from chassis.validation import inlined_schema
from contracts.answer import DEFAULT_PIPELINE, Answer, IdentifiedEvent, Reason, TranscriptEvent
from contracts.chat import (
    Annotation,
    ChatChunk,
    ChatCompletion,
    ChatReply,
    ChatRequest,
    Choice,
    ChunkChoice,
    FinishReason,
    Model,
    Models,
    UrlCitation,
    Usage,
)
from gateway.planning.plan import CHARS_A_TOKEN
from gateway.planning.run import RunEvent, ignore_events
from gateway.planning.stages import Stage
from gateway.routes.chat_intake import pipeline_of, read_chat, to_question
from gateway.routes.intake import CallerDep, GatewayDep, deadline_ms_of
from gateway.routes.streaming import Emit, EventStream, pieces
from gateway.serving.question import Admitted, AnswerWithRemark, in_words

router = Router(prefix="/v1")

_JSON_LIMITS = JsonLimits(max_bytes=None, max_items=32_768, max_depth=64)
"""For a whole conversation, and for the tools that clients offer with it, whose schemas are deep."""
_BODY = {"required": True, "content": {"application/json": {"schema": inlined_schema(ChatRequest)}}}
_DONE = "[DONE]"
_CAN_DO = "I answer questions about a photo that you send, and about the pages that I was given."
_NOTHING_FOUND = frozenset(
    {
        Reason.NO_EVIDENCE,
        Reason.MODEL_UNSURE,
        Reason.LOW_CONFIDENCE,
        Reason.UNSUPPORTED,
        Reason.NOTHING_INDEXED,
        Reason.NEEDS_PHOTO,
    }
)


@router.post("/chat/completions", response_model=ChatCompletion, openapi_extra={"requestBody": _BODY})
@takes_json(_JSON_LIMITS)
async def complete_chat(
    request: Request, gateway: GatewayDep, caller: CallerDep, exchange: RequestDeadline
) -> ChatCompletion | Response:
    """Answer the last question of a conversation, in OpenAI's format."""
    received = Deadline.after_ms(0)
    if media_type_of(request) != "application/json":
        raise UnsupportedMediaType("Send application/json.")  # a page's form is no chat client
    chat = await read_body(request, read_chat)
    deadline_ms = deadline_ms_of(chat.deadline_ms, gateway.settings)
    deadline = Deadline(min(received.at + deadline_ms / 1000, exchange.at))
    question = await to_question(chat, gateway, caller, deadline_ms, deadline)
    admitted = await gateway.execution.admit(question)
    trace_id: str = request.state.trace_id

    async def produce(emit: Emit) -> None:
        chunk = ChatChunk(
            id=_id(trace_id), created=int(time.time()), model=admitted.pipeline.name, choices=[]
        )
        send = partial(emit, "")

        async def send_delta(delta: dict[str, Any]) -> None:
            await send(chunk.model_copy(update={"choices": [ChunkChoice(delta=delta)]}))

        async def on_event(event: RunEvent) -> None:
            await send_delta(_delta(event))

        answer = await gateway.execution.answer(admitted, trace_id, deadline, on_event)
        completion = _completion(chat, admitted, answer)
        [choice] = completion.choices
        for piece in pieces(choice.message.content):
            await send_delta({"content": piece})
        sources = [each.model_dump() for each in choice.message.annotations]
        last = ChunkChoice(
            delta={"annotations": sources} if sources else {}, finish_reason=choice.finish_reason
        )
        await send(chunk.model_copy(update={"choices": [last], "loreglass": answer}))
        if chat.stream_options and chat.stream_options.include_usage:
            await send(chunk.model_copy(update={"usage": completion.usage}))
        await send(_DONE)

    if chat.stream:
        return EventStream(
            produce,
            lambda error: openai_refusal(error, trace_id),
            lambda error: json.dumps({"error": openai_error(error)}),
            failure_event="",
        )
    answer = await gateway.execution.answer(admitted, trace_id, deadline, ignore_events)
    return _completion(chat, admitted, answer)


@router.get("/chat/completions")
async def list_chats(_: CallerDep) -> dict[str, Any]:
    """Return an empty list: chats are not stored. Apps call it to test address and key."""
    return {"object": "list", "data": [], "has_more": False}


@router.get("/models", response_model=Models)
async def list_models(gateway: GatewayDep, _: CallerDep) -> Models:
    """List the pipelines as models, the default first."""
    names = sorted(gateway.execution.pipelines, key=lambda name: (name != DEFAULT_PIPELINE, name))
    names += sorted(gateway.settings.model_aliases)
    return Models(data=[Model(id=name, created=int(gateway.started_at)) for name in names])


@router.get("/models/{name}", response_model=Model)
async def show_model(name: str, gateway: GatewayDep, _: CallerDep) -> Model:
    """Return one pipeline as a model."""
    if pipeline_of(name, gateway) not in gateway.execution.pipelines:
        raise PipelineNotFound("There is no pipeline of this name; GET /v1/models lists them.")
    return Model(id=name, created=int(gateway.started_at))


def _delta(event: RunEvent) -> dict[str, Any]:
    if isinstance(event, TranscriptEvent):
        return {"reasoning_content": f"heard: {event.text}\n"}
    if isinstance(event, IdentifiedEvent):
        return {"reasoning_content": f"{event.sentence}\n"}
    if event.stage == Stage.ADMISSION:
        return {"role": "assistant", "content": ""}
    stage = event.stage.replace("_", " ")
    return {"reasoning_content": f"{stage}: {event.state} after {event.ms:.0f} ms\n"}


def _completion(chat: ChatRequest, admitted: Admitted, answer: AnswerWithRemark) -> ChatCompletion:
    text, finish_reason = _cut(chat, _text(admitted, answer), answer.remark)
    sources = [
        Annotation(
            url_citation=UrlCitation(url=each.url, title=each.title, start_index=0, end_index=len(text))
        )
        for each in answer.citations
    ]
    return ChatCompletion(
        id=_id(answer.trace_id),
        created=int(time.time()),
        model=admitted.pipeline.name,
        choices=[Choice(message=ChatReply(content=text, annotations=sources), finish_reason=finish_reason)],
        usage=_usage(admitted, answer, text),
        loreglass=answer,
    )


def _id(trace_id: str) -> str:
    return f"chatcmpl-{trace_id}"


def _text(admitted: Admitted, answer: Answer) -> str:
    """Return the answer; after a refusal also the closest passage and the advice.

    If nothing was found and there is no photo, the advice says what users can ask here.
    """
    photo = admitted.question.photo or admitted.session.photo
    advice = _CAN_DO if photo is None and answer.reason in _NOTHING_FOUND else answer.advice
    return " ".join(filter(None, (answer.answer, in_words(answer), advice)))


def _cut(chat: ChatRequest, text: str, remark: str) -> tuple[str, FinishReason]:
    """Cut the text before the first stop sequence, and to the number of tokens that the client wants.

    The remark at its end, such as that it was not checked, stays: a cut must not remove a caution.
    """
    text = text.removesuffix(f" {remark}") if remark else text
    for stop in [chat.stop] if isinstance(chat.stop, str) else chat.stop or []:
        text = text.partition(stop)[0] if stop else text
    limits = (chat.max_completion_tokens, chat.max_tokens)
    most = min((limit for limit in limits if limit is not None and limit > 0), default=math.inf)
    cut = text[: int(min(most, len(text))) * CHARS_A_TOKEN]
    whole = f"{cut.rstrip()} {remark}" if remark else cut
    return whole, "stop" if cut == text else "length"


def _usage(admitted: Admitted, answer: Answer, text: str) -> Usage:
    """Return the model's tokens, or an estimate if no model was called."""
    prompt, completion = answer.model_usage.prompt_tokens, answer.model_usage.completion_tokens
    if not prompt:
        question, turns = admitted.question, admitted.session.turns
        texts = [question.instructions, question.text, *(f"{turn.question}{turn.answer}" for turn in turns)]
        prompt, completion = sum(map(_tokens, texts)), _tokens(text)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, total_tokens=prompt + completion)


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARS_A_TOKEN)


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
    """Reply to a base address without `/v1`, or with a further path."""
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
