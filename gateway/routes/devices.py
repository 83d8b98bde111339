"""`POST /devices/photo-question`: for devices that send a photo and expect a reply in a shape of their own.

Xiaozhi boards send `question`, `file` and their `Device-Id`. Glasses of Mentra's Bluetooth SDK, or the phone
for them, send `photo` and `requestId`. Their question is in the URL that the app gives them, and the app
fetches the answer by `requestId`, because the glasses do not pass replies on. A device's question is always
about the photo that came with it, never about an earlier one.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import structlog
from fastapi import Query, Request
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from chassis.errors import (
    DependencyUnavailable,
    Internal,
    InvalidRequest,
    LoreglassError,
    NotFound,
    problem_of,
)
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router, read_form
from chassis.http.connections import address_of
from chassis.http.problems import note_problem, problem_response
from chassis.resilience.deadlines import Deadline
from chassis.validation import validate
from contracts.answer import Answer, AnswerRequest
from contracts.devices import PhotoQuestionReply
from gateway.planning.run import ignore_events
from gateway.routes.intake import (
    MAX_FORM_FIELDS,
    MAX_FORM_FILES,
    Files,
    GatewayDep,
    caller_of,
    to_question,
)
from gateway.serving.question import SPOKEN_CHARS, in_words
from gateway.serving.stores import ID_BYTES
from gateway.store import Store, read_stored

router = Router(prefix="/devices")

DEFAULT_QUESTION = "What is this?"
_PHOTOS = ("photo", "file", "image")
_MOST_ID_CHARS = 128
_GLASSES_WAIT_MS = 4_500
"""Glasses disconnect five seconds after they sent the photo."""
_OTHERS_WAIT_MS = 25_000
"""Boards, and phones that send for glasses, disconnect after thirty."""
_REPLY_TTL_S = 600.0

log = structlog.get_logger()

_PART = {"type": "string", "format": "binary"}
_FORM = {
    "type": "object",
    "properties": {
        "question": {"type": "string"},
        "photo": {**_PART, "description": "Or `file` or `image`: one of them."},
        "file": _PART,
        "image": _PART,
        "requestId": {"type": "string", "maxLength": _MOST_ID_CHARS},
        "source": {"type": "string", "description": "Of a photo that the phone sends for its glasses."},
    },
}
_BODY = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}


@dataclass(frozen=True, slots=True)
class _Form:
    """A device's message. `patience_ms`: how long it waits for the reply."""

    question: str
    photo: bytes
    request_id: str | None
    patience_ms: int


@router.post(
    "/photo-question",
    response_model=PhotoQuestionReply,
    response_model_exclude_none=True,
    openapi_extra=_BODY,
)
async def ask_with_photo(
    request: Request,
    gateway: GatewayDep,
    exchange: RequestDeadline,
    question: Annotated[str, Query(description="Where the form has none; else what the thing is.")] = "",
    session: Annotated[str, Query(description="Questions under one name are one conversation.")] = "",
    deadline_ms: Annotated[str | None, Query(description="Else what the device waits for.")] = None,
) -> PhotoQuestionReply | Response:
    """Answer a device that sends a photo, in the format that it reads.

    To a board (who sends a `Device-Id`) every reply but those of the exchange itself has status 200: it reads
    no words under another.
    """
    is_board = "device-id" in request.headers
    try:
        caller = await caller_of(request, gateway)
        form = await _read(request)
    except LoreglassError as error:
        return _refusal(error, request, is_board)
    text = form.question or question.strip() or DEFAULT_QUESTION
    patience_ms = min(form.patience_ms, gateway.settings.answer_deadline_ms)
    fields = {"question": text, "deadline_ms": deadline_ms or patience_ms}
    trace_id: str = request.state.trace_id
    received = Deadline.after_ms(0)  # the device waits from when it has sent everything

    async def ask() -> PhotoQuestionReply:
        body = validate(AnswerRequest, fields)
        whole = await to_question(body, Files(form.photo), gateway, caller, received)
        session_id = _session_id(request, session, gateway.signing_secret)
        whole = replace(whole, session_id=session_id, opens_session=session_id is not None)
        deadline = Deadline(min(received.at + whole.deadline_ms / 1000, exchange.at))
        admitted = await gateway.execution.admit(whole)
        answer = await gateway.execution.answer(admitted, trace_id, deadline, ignore_events)
        return _reply(answer, text, form.request_id, is_board)

    async def ask_and_store() -> PhotoQuestionReply:
        key = _reply_key(caller.tenant, session, form.request_id or "")
        store = partial(_store, gateway.idempotency.store, key, caller.tenant)
        await store(None)
        try:
            reply = await ask()
        except Exception as error:
            await store(_failure(error if isinstance(error, LoreglassError) else Internal()))
            raise
        await store(reply)
        return reply

    try:
        if form.request_id:  # the app may fetch the answer, so work goes on if the device disconnects
            return await gateway.idempotency.to_completion(ask_and_store, request.state.place)
        return await ask()
    except LoreglassError as error:
        return _refusal(error, request, is_board)


@router.get(
    "/photo-question/{request_id}", response_model=PhotoQuestionReply, response_model_exclude_none=True
)
async def show_answer(
    request_id: str, request: Request, gateway: GatewayDep, session: str = ""
) -> PhotoQuestionReply | Response:
    """Return the reply to a photo with this `requestId`, for the phone whose glasses sent it.

    404 while there is nothing, and again after ten minutes. `session`: the one of the address that the photo
    was sent to.
    """
    try:
        caller = await caller_of(request, gateway)
        key, store = _reply_key(caller.tenant, session, request_id), gateway.idempotency.store
        reply = await read_stored(store, key, caller.tenant, PhotoQuestionReply, "photo reply")
        if reply is None:
            raise NotFound("There is no answer to a photo of this requestId, or not yet.")
        return reply
    except LoreglassError as error:
        return _refusal(error, request, is_board=False)


async def _store(store: Store, key: str, tenant: str, reply: PhotoQuestionReply | None) -> None:
    """Store the reply until the app fetches it; None deletes that to an earlier photo with the same id.

    If that fails, the device still gets its reply.
    """
    try:
        if reply is None:
            await store.delete(key, tenant)
        else:
            await store.put(key, reply.model_dump_json().encode(), _REPLY_TTL_S, tenant)
    except DependencyUnavailable as error:
        log.warning("answer_not_kept", reason=error.kind.value)


def _reply_key(tenant: str, session: str, request_id: str) -> str:
    parts = ("photo-question", tenant, session, request_id[:_MOST_ID_CHARS])
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


async def _read(request: Request) -> _Form:
    """Read the form. Unknown fields are ignored: devices add their own.

    Raises `InvalidRequest`, or what `read_form` raises.
    """
    async with read_form(request, max_files=MAX_FORM_FILES, max_fields=MAX_FORM_FIELDS) as form:
        photos = [part for name in _PHOTOS for part in form.getlist(name) if isinstance(part, UploadFile)]
        if len(photos) != 1:
            raise InvalidRequest(f"{', '.join(_PHOTOS)}: one photo is needed, and {len(photos)} came.")
        question, request_id = form.get("question"), form.get("requestId")
        by_glasses = form.get("photo") is photos[0] and "source" not in form
        return _Form(
            question=question.strip() if isinstance(question, str) else "",
            photo=await photos[0].read(),
            request_id=request_id[:_MOST_ID_CHARS] if isinstance(request_id, str) else None,
            patience_ms=_GLASSES_WAIT_MS if by_glasses else _OTHERS_WAIT_MS,
        )


def _session_id(request: Request, name: str, secret: bytes) -> str | None:
    """Return the id of the device's conversation, the same at every gateway; None if nothing names one.

    It depends on all that identifies the device: its key, or its network address if it sends none. Its
    `Device-Id` alone, which is its hardware address, is not enough to compute the id or to join.
    """
    headers = request.headers
    names = (name, headers.get("device-id", ""), headers.get("client-id", ""))
    if not any(names):
        return None
    address = address_of(request.client.host) if request.client else ""
    whole = "\0".join((*names, headers.get("authorization") or address))
    digest = hmac.digest(secret, whole.encode(errors="replace"), "sha256")
    return urlsafe_b64encode(digest[:ID_BYTES]).decode()


def _reply(answer: Answer, question: str, request_id: str | None, is_board: bool) -> PhotoQuestionReply:
    closest = in_words(answer, question, SPOKEN_CHARS)
    return PhotoQuestionReply(
        success=True,
        action="RESPONSE",
        response=" ".join(filter(None, (answer.answer, closest, answer.advice))),
        requestId=request_id,
        loreglass=None if is_board else answer,
    )


def _failure(error: LoreglassError) -> PhotoQuestionReply:
    return PhotoQuestionReply(success=False, message=problem_of(error).detail)


def _refusal(error: LoreglassError, request: Request, is_board: bool) -> Response:
    members = _failure(error).model_dump(exclude_none=True)
    if not is_board:
        return problem_response(error, request.state.trace_id, **members)
    note_problem(request.scope, error)
    return JSONResponse(members)
