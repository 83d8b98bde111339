"""`POST /v1/chat/completions` and `GET /v1/models`: any OpenAI client can use the platform as a model.

The caller carries the conversation: the last user message is the question, the newest photo of the
conversation is what it is about, the messages before it are the history, and system messages say how answers
are to be worded. What does not fit or is not heeded is named in `degraded`.
"""

import base64
import binascii
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import anyio.to_thread
from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from chassis.errors import (
    ImageUrlNotAllowed,
    InvalidRequest,
    LoreglassError,
    MalformedRequest,
    PipelineNotFound,
)
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router, read_body, takes_json
from chassis.json_text import JsonLimits, read_json
from chassis.resilience.deadlines import Deadline
from chassis.validation import first_fault, inlined_schema
from contracts.answer import DEFAULT_PIPELINE, Answer, IdentifiedEvent, Reason, TranscriptEvent
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
    FinishReason,
    Model,
    Models,
    StoredChats,
    UrlCitation,
    Usage,
)
from gateway.planning.run import RunEvent, ignore_events
from gateway.planning.stages import Stage
from gateway.reasoning.refusals import is_refusal
from gateway.routes.dependencies import GatewayDep, caller_of
from gateway.routes.intake import allowed, checked_deadline_ms, photo_of, question_text, sound_of
from gateway.routes.openai_errors import openai_error, refused
from gateway.routes.streaming import DataStream, Send, pieces
from gateway.serving.closest import in_words
from gateway.serving.execution import Admitted, Answered, Question
from gateway.serving.sessions import Session
from gateway.serving.tenants import Caller
from gateway.settings import Reasoning
from gateway.speech.audio import Sound
from gateway.state import Turn
from gateway.wiring import Gateway

router = Router(prefix="/v1")

_JSON_LIMITS = JsonLimits(max_bytes=None, max_items=32_768, max_depth=64)
"""Of a whole conversation, and of the tools that clients offer with it, whose schemas are deep."""
_DONE = "[DONE]"
_CHARS_A_TOKEN = 4
_MOST_INSTRUCTION_CHARS = 4_000
_CAN_DO = "I answer questions about a photo that you send, and about the pages that I was given."
_NOTHING_FOUND = frozenset(
    {Reason.NO_EVIDENCE, Reason.MODEL_UNSURE, Reason.UNSUPPORTED, Reason.NOTHING_INDEXED, Reason.NEEDS_PHOTO}
)


@router.get("/models", response_model=Models)
async def list_models(request: Request, gateway: GatewayDep) -> Models | Response:
    """The pipelines, as models; first the default, which clients take for a person who chooses none."""
    try:
        await caller_of(request, gateway)
    except LoreglassError as error:
        return refused(error, request.state.trace_id)
    started = int(gateway.started_at)
    names = sorted(gateway.execution.pipelines, key=lambda name: (name != DEFAULT_PIPELINE, name))
    names += sorted(gateway.settings.model_aliases)
    return Models(data=[Model(id=name, created=started) for name in names])


@router.get("/models/{name}", response_model=Model)
async def show_model(name: str, request: Request, gateway: GatewayDep) -> Model | Response:
    """One pipeline, as a model."""
    try:
        await caller_of(request, gateway)
        if _pipeline_of(name, gateway) not in gateway.execution.pipelines:
            raise PipelineNotFound("There is no pipeline of this name; GET /v1/models lists them.")
    except LoreglassError as error:
        return refused(error, request.state.trace_id)
    return Model(id=name, created=int(gateway.started_at))


def _pipeline_of(model: str, gateway: Gateway) -> str:
    """The pipeline that a model's name means; the same where it means none."""
    return DEFAULT_PIPELINE if model in gateway.settings.model_aliases else model


@router.get("/chat/completions", response_model=StoredChats)
async def list_chats(request: Request, gateway: GatewayDep) -> StoredChats | Response:
    """None: chats are not stored. Apps look here for whether the address and the key are right."""
    try:
        await caller_of(request, gateway)
    except LoreglassError as error:
        return refused(error, request.state.trace_id)
    return StoredChats()


@router.post(
    "/chat/completions",
    response_model=ChatCompletion,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": inlined_schema(ChatRequest)}},
        }
    },
)
@takes_json(_JSON_LIMITS)
async def complete_chat(
    request: Request, gateway: GatewayDep, exchange: RequestDeadline
) -> ChatCompletion | Response:
    """Answer the last question of a conversation, in OpenAI's shape."""
    trace_id: str = request.state.trace_id
    received = Deadline.after_ms(0)
    try:
        caller = await caller_of(request, gateway)  # here, so that a refusal has OpenAI's shape too
        asked = await read_body(request, _request)
        deadline_ms = checked_deadline_ms(asked.deadline_ms, gateway.settings)
        deadline = Deadline(min(received.at + deadline_ms / 1000, exchange.at))
        question = await _question(asked, gateway, caller, deadline_ms, deadline)
        admitted = await gateway.execution.admit(question)
        if asked.stream:
            return _stream(gateway, asked, admitted, trace_id, deadline)
        answer = await gateway.execution.answer(admitted, trace_id, deadline, ignore_events)
    except LoreglassError as error:
        return refused(error, trace_id)
    return _completion(asked, admitted, answer)


def _request(body: bytes) -> ChatRequest:
    """Blocking: photos in base64 take tens of milliseconds to read."""
    try:
        return ChatRequest.model_validate(read_json(body))
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}.") from error


async def _question(
    asked: ChatRequest, gateway: Gateway, caller: Caller, deadline_ms: int, deadline: Deadline
) -> Question:
    experiment = allowed(asked.experiment, gateway.settings)
    last = asked.messages[-1]
    if last.role != "user":
        raise InvalidRequest("messages: the last one must be the user's.")
    longest, said = gateway.settings.max_question_chars, last.text.strip()
    turns = tuple(_turns(asked.messages[-MOST_MESSAGES:-1]))
    read = tuple(
        replace(turn, question=turn.question[:longest], answer=turn.answer[:longest]) for turn in turns
    )
    unheard = any(message.sounds for message in asked.messages[:-1])
    unread = ["history"] if read != turns or len(asked.messages) > MOST_MESSAGES or unheard else []
    text = _both_ends(said, longest)
    if text != said:
        unread.append("question")
    system = (each.text for each in asked.messages if each.role in ("system", "developer"))
    instructions = "\n".join(system).strip()
    heard = _MOST_INSTRUCTION_CHARS if gateway.settings.reasoning is Reasoning.VLM else 0
    if len(instructions) > heard:
        unread.append("instructions")
    sent = [uri for message in asked.messages for uri in message.photos]
    photo = None
    if sent:
        data = await anyio.to_thread.run_sync(_photo_bytes, sent[-1])
        photo = await photo_of(data, gateway.settings, gateway.photos, gateway.photo_slots, deadline, caller)
    is_new = bool(last.photos)
    carried = Session("", None if is_new else photo, read)
    sound = await _sound(last, gateway, caller, deadline)
    return Question(
        text=question_text(text, gateway.settings) if text or sound is None else "",
        sound=sound,
        photo=photo if is_new else None,
        session_id=None,
        deadline_ms=deadline_ms,
        pipeline=_pipeline_of(asked.model, gateway),
        carried=carried,
        caller=caller,
        instructions=instructions[:heard],
        unread=tuple(unread),
        experiment=experiment,
    )


def _both_ends(text: str, longest: int) -> str:
    """What is too long is read from both ends: people put the question before or behind what they paste."""
    if len(text) <= longest:
        return text
    half = longest // 2 - 2
    return f"{text[:half].rstrip()}\n…\n{text[-half:].lstrip()}"


async def _sound(message: ChatMessage, gateway: Gateway, caller: Caller, deadline: Deadline) -> Sound | None:
    """What was said in it. Raises what `sound_of` raises, and `InvalidRequest` or `MalformedRequest`."""
    if not message.sounds:
        return None
    if len(message.sounds) > 1:
        raise InvalidRequest("messages: one recording a message is heard.")
    data = await anyio.to_thread.run_sync(_sound_bytes, message.sounds[0])
    return await sound_of(data, gateway, caller, deadline)


def _sound_bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedRequest("The recording is not valid base64.") from error


def _photo_bytes(uri: str) -> bytes:
    head, comma, body = uri.partition(",")
    if not comma or not head.startswith("data:") or not head.endswith(";base64"):
        raise ImageUrlNotAllowed("Send the photo as a data: URI with base64; URLs are not fetched.")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise MalformedRequest("The photo's data: URI is not valid base64.") from error


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    """The user's messages with the reply that came next; calls of tools and what they gave are left out.

    What nobody replied to is no turn.
    """
    said = [each for each in messages if each.role == "user" or (each.role == "assistant" and each.text)]
    for message, reply in pairwise(said):
        if (message.role, reply.role) == ("user", "assistant"):
            yield Turn(message.text, reply.text, is_refusal(reply.text))


def _completion(asked: ChatRequest, admitted: Admitted, answer: Answered) -> ChatCompletion:
    said, finish_reason = _within(asked, _said(admitted, answer), answer.remark)
    whole = len(said)
    sources = [
        Annotation(url_citation=UrlCitation(url=each.url, title=each.title, start_index=0, end_index=whole))
        for each in answer.citations
    ]
    return ChatCompletion(
        id=_id(answer.trace_id),
        created=int(time.time()),
        model=admitted.pipeline.name,
        choices=[Choice(message=ChatReply(content=said, annotations=sources), finish_reason=finish_reason)],
        usage=_usage(admitted, answer, said),
        loreglass=answer,
    )


def _said(admitted: Admitted, answer: Answer) -> str:
    """Return the answer; after a refusal also the closest passage and the advice.

    If nothing was found and there is no photo, the advice says what users can ask here.
    """
    seen = admitted.question.photo or admitted.session.photo
    helps = _CAN_DO if seen is None and answer.reason in _NOTHING_FOUND else answer.advice
    return " ".join(filter(None, (answer.answer, in_words(answer), helps)))


def _within(asked: ChatRequest, said: str, remark: str) -> tuple[str, FinishReason]:
    """What the caller wants to read of it: up to a stop sequence, and no more tokens than were asked for.

    The remark at its end, such as that it was not checked, stays: a cut must not make an answer surer.
    """
    said = said.removesuffix(f" {remark}") if remark else said
    for stop in [asked.stop] if isinstance(asked.stop, str) else asked.stop or []:
        said = said.partition(stop)[0] if stop else said
    most = min(asked.max_completion_tokens or math.inf, asked.max_tokens or math.inf)
    read = said[: int(min(most, len(said))) * _CHARS_A_TOKEN]
    whole = f"{read.rstrip()} {remark}" if remark else read
    return whole, "stop" if read == said else "length"


def _usage(admitted: Admitted, answer: Answer, said: str) -> Usage:
    read, wrote = answer.model_usage.prompt_tokens, answer.model_usage.completion_tokens
    if not read:
        question, turns = admitted.question, admitted.session.turns
        texts = [question.instructions, question.text, *(f"{turn.question}{turn.answer}" for turn in turns)]
        read, wrote = sum(map(_tokens, texts)), _tokens(said)
    return Usage(prompt_tokens=read, completion_tokens=wrote, total_tokens=read + wrote)


def _tokens(text: str) -> int:
    return math.ceil(len(text) / _CHARS_A_TOKEN)


def _stream(
    gateway: Gateway, asked: ChatRequest, admitted: Admitted, trace_id: str, deadline: Deadline
) -> DataStream:
    begun = ChatChunk(id=_id(trace_id), created=int(time.time()), model=admitted.pipeline.name, choices=[])

    async def produce(send: Send) -> None:
        async def tell(delta: dict[str, Any]) -> None:
            await send(begun.model_copy(update={"choices": [ChunkChoice(delta=delta)]}))

        async def on_event(event: RunEvent) -> None:
            if isinstance(event, TranscriptEvent):
                await tell({"reasoning_content": f"heard: {event.text}\n"})
            elif isinstance(event, IdentifiedEvent):
                await tell({"reasoning_content": f"{event.sentence}\n"})
            elif event.stage == Stage.ADMISSION:
                await tell({"role": "assistant", "content": ""})
            else:
                name = event.stage.replace("_", " ")
                await tell({"reasoning_content": f"{name}: {event.state} after {event.ms:.0f} ms\n"})

        answer = await gateway.execution.answer(admitted, trace_id, deadline, on_event)
        whole = _completion(asked, admitted, answer)
        [choice] = whole.choices
        for piece in pieces(choice.message.content):
            await tell({"content": piece})
        sources = [each.model_dump() for each in choice.message.annotations]
        last = ChunkChoice(
            delta={"annotations": sources} if sources else {}, finish_reason=choice.finish_reason
        )
        await send(begun.model_copy(update={"choices": [last], "loreglass": answer}))
        if asked.stream_options and asked.stream_options.include_usage:
            await send(begun.model_copy(update={"usage": whole.usage}))
        await send(_DONE)

    return DataStream(
        produce, lambda error: refused(error, trace_id), lambda error: _Failure(error=openai_error(error))
    )


class _Failure(BaseModel):
    """What OpenAI's clients raise when it comes in a stream."""

    error: dict[str, Any]


def _id(trace_id: str) -> str:
    return f"chatcmpl-{trace_id}"
