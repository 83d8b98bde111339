"""`POST /devices/photo-question`: for devices that send a photo and read the answer in a shape of their own.

Xiaozhi boards send `question` and `file` and their `Device-Id`. Glasses of Mentra's Bluetooth SDK, and the
phone for them, send `photo` and `requestId`: their question stands in the address that the app gives them,
and the app fetches the answer by its `requestId`, for what uploads a photo hands on no reply. Each photo is a
new one: no question of a device is about the photo before.
"""

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from typing import Annotated

import structlog
from fastapi import Query, Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from chassis.errors import (
    DependencyUnavailable,
    Internal,
    InvalidRequest,
    LoreglassError,
    NotFound,
    UnsupportedMediaType,
    problem_of,
)
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router
from chassis.http.forms import read_form
from chassis.http.problems import note_problem, problem_response
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer
from contracts.devices import PhotoQuestionReply
from gateway.expiring_store import ExpiringStore
from gateway.planning.run import ignore_events
from gateway.routes.dependencies import GatewayDep, caller_of
from gateway.routes.intake import MAX_FORM_FIELDS, MAX_FORM_FILES, Files, as_fields, to_question
from gateway.serving.closest import SPOKEN_CHARS, in_words
from gateway.serving.sessions import ID_BYTES

router = Router(prefix="/devices")

DEFAULT_QUESTION = "What is this?"
_PHOTOS = ("photo", "file", "image")
_MOST_ID_CHARS = 128
_GLASSES_WAIT_MS = 4_500
"""Glasses hang up when no reply has come five seconds after they sent the photo."""
_OTHERS_WAIT_MS = 25_000
"""Boards, and the phone that sends for its glasses, hang up after thirty."""
_KEPT_FOR_S = 600.0

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
    """What a device sent. `waits_ms`: how long it waits for the reply."""

    question: str
    photo: bytes
    request_id: str | None
    waits_ms: int


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
    """Answer a device that sends a photo, in the shape that it reads.

    To a board (who sends a `Device-Id`) every reply but those of the exchange itself has status 200: it reads
    no words under another.
    """
    on_board = "device-id" in request.headers
    try:
        caller = await caller_of(request, gateway)  # here, so that a refusal has the device's shape too
        form = await _read(request)
    except LoreglassError as error:
        return _refused(error, request, on_board)
    waits_ms = min(form.waits_ms, gateway.settings.answer_deadline_ms)
    question = form.question or question.strip() or DEFAULT_QUESTION
    fields = {"question": question, "deadline_ms": deadline_ms or waits_ms}
    replies = _ReplyStore(
        gateway.idempotency.store, caller.tenant, session, form.request_id, request.state.trace_id
    )
    sent = Deadline.after_ms(0)  # the device's patience begins when it has sent everything

    async def ask() -> Answer:
        asked = await to_question(as_fields(fields), Files(form.photo), gateway, caller, sent)
        session_id = _conversation(request, session)
        asked = replace(asked, session_id=session_id, opens_session=session_id is not None)
        deadline = Deadline(min(sent.at + asked.deadline_ms / 1000, exchange.at))
        admitted = await gateway.execution.admit(asked)
        return await gateway.execution.answer(admitted, request.state.trace_id, deadline, ignore_events)

    async def ask_and_store() -> PhotoQuestionReply:
        await replies.begin()
        try:
            reply = _told(await ask(), question, form.request_id, on_board)
        except LoreglassError as error:
            await replies.put(_failure(error))
            raise
        except Exception:
            await replies.put(_failure(Internal()))
            raise
        await replies.put(reply)
        return reply

    try:
        if form.request_id:  # somebody else may fetch it: it is answered though its device hangs up
            return await gateway.idempotency.to_completion(ask_and_store, request.state.place)
        return _told(await ask(), question, None, on_board)
    except LoreglassError as error:
        return _refused(error, request, on_board)


def _told(answer: Answer, question: str, request_id: str | None, on_board: bool) -> PhotoQuestionReply:
    closest = in_words(answer, question, SPOKEN_CHARS)
    return PhotoQuestionReply(
        success=True,
        action="RESPONSE",
        response=" ".join(filter(None, (answer.answer, closest, answer.advice))),
        requestId=request_id,
        loreglass=None if on_board else answer,
    )


@router.get(
    "/photo-question/{request_id}", response_model=PhotoQuestionReply, response_model_exclude_none=True
)
async def show_answer(
    request_id: str, request: Request, gateway: GatewayDep, session: str = ""
) -> PhotoQuestionReply | Response:
    """What came of a photo that was sent with this `requestId`, for the phone whose glasses sent it.

    404 while there is nothing, and again after ten minutes. `session`: the one of the address that the photo
    was sent to.
    """
    try:
        caller = await caller_of(request, gateway)
        found = await _ReplyStore(gateway.idempotency.store, caller.tenant, session, request_id).get()
    except LoreglassError as error:
        return _refused(error, request, on_board=False)
    return found


class _PendingReply(BaseModel):
    """What waits under a `requestId`: the newest photo's request, and its reply once there is one."""

    trace_id: str
    reply: PhotoQuestionReply | None = None


def _pending(kept: bytes | None) -> _PendingReply | None:
    """None for what is none of ours, too."""
    try:
        return _PendingReply.model_validate_json(kept) if kept is not None else None
    except ValidationError:
        return None


@dataclass(frozen=True, slots=True)
class _ReplyStore:
    """Where the reply to the request of `trace_id` waits for the phone.

    An answer is not lost because it cannot be kept: whoever sent the photo reads it.
    """

    kept: ExpiringStore
    tenant: str
    session: str
    request_id: str | None
    trace_id: str = ""

    async def begin(self) -> None:
        """A newer photo is being asked about: what is there is no answer to it."""
        await self._put(_PendingReply(trace_id=self.trace_id))

    async def put(self, reply: PhotoQuestionReply) -> None:
        """Unless a newer photo has been sent meanwhile."""
        found = await self._found()
        if found is not None and found.trace_id == self.trace_id:
            await self._put(_PendingReply(trace_id=self.trace_id, reply=reply))

    async def get(self) -> PhotoQuestionReply:
        """Raises `NotFound` or `DependencyUnavailable`."""
        found = _pending(await self.kept.get(self._key))
        reply = found.reply if found is not None else None
        if reply is None:
            raise NotFound("There is no answer to a photo of this requestId, or not yet.")
        return reply

    async def _found(self) -> _PendingReply | None:
        try:
            return _pending(await self.kept.get(self._key))
        except DependencyUnavailable:  # told where it is put
            return None

    async def _put(self, entry: _PendingReply) -> None:
        try:
            await self.kept.put(self._key, entry.model_dump_json().encode(), _KEPT_FOR_S, self.tenant)
        except DependencyUnavailable as error:
            log.warning("answer_not_kept", reason=error.kind.value)

    @property
    def _key(self) -> str:
        named = ("photo-question", self.tenant, self.session, (self.request_id or "")[:_MOST_ID_CHARS])
        return hashlib.sha256("\0".join(named).encode(errors="replace")).hexdigest()


async def _read(request: Request) -> _Form:
    """Fields that are not known are left alone: devices add their own.

    Raises `UnsupportedMediaType`, `InvalidRequest`, or what `read_form` raises.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise UnsupportedMediaType("Send multipart/form-data.")
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
            waits_ms=_GLASSES_WAIT_MS if by_glasses else _OTHERS_WAIT_MS,
        )


def _conversation(request: Request, name: str) -> str | None:
    """The id of the device's own conversation, the same at every gateway; None where nothing names one.

    Made of all that the device says of itself, its key too: who knows its `Device-Id` alone, which is its
    hardware's address, does not come into its conversation.
    """
    headers = request.headers
    named = (name, headers.get("device-id", ""), headers.get("client-id", ""))
    if not any(named):
        return None
    whole = "\0".join((*named, headers.get("authorization", "")))
    digest = hashlib.sha256(whole.encode(errors="replace")).digest()
    return urlsafe_b64encode(digest[:ID_BYTES]).decode()


def _failure(error: LoreglassError) -> PhotoQuestionReply:
    return PhotoQuestionReply(success=False, message=problem_of(error).detail)


def _refused(error: LoreglassError, request: Request, on_board: bool) -> Response:
    members = _failure(error).model_dump(exclude_none=True)
    if not on_board:
        return problem_response(error, request.state.trace_id, **members)
    note_problem(request.scope, error)
    return JSONResponse(members)
