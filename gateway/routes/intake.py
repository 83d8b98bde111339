"""Check untrusted requests and turn them into questions, for every route that asks; find the caller."""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile

from chassis.errors import (
    DeadlineExceeded,
    ExperimentsNotAllowed,
    ImageUrlNotAllowed,
    InvalidRequest,
    MalformedRequest,
    UnsupportedMediaType,
)
from chassis.http.access import is_sent_from_here
from chassis.http.bodies import media_type_of, read_body, read_form
from chassis.images import ImageLimits
from chassis.json_text import JsonLimits, read_json
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.spans import span
from chassis.validation import validate
from contracts.answer import DEFAULT_PIPELINE, AnswerRequest, Experiment
from contracts.headers import PRIORITY
from gateway.serving.question import Question
from gateway.serving.tenants import Caller
from gateway.settings import GatewaySettings
from gateway.speech.audio import AudioLimits, Sound
from gateway.state import Photo
from gateway.wiring import Gateway

JSON_LIMITS = JsonLimits(max_bytes=None, max_items=512, max_depth=8)
"""For a question: a few fields, with photo and sound in base64."""
MAX_FORM_FIELDS = 16
MAX_FORM_FILES = 2
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_FILES = ("image", "audio")
_OBJECTS = ("experiment", "memory")
_FIELDS = ("question", "session_id", "deadline_ms", "pipeline", *_OBJECTS)


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a request, unchecked."""

    image: bytes | None = None
    audio: bytes | None = None


async def read_question(request: Request, gateway: Gateway, caller: Caller, received: Deadline) -> Question:
    """Return the question of a multipart or JSON request; its deadline counts from when it was `received`.

    Raises `MalformedRequest`, `InvalidRequest`, `PayloadTooLarge`, `UnsupportedMediaType`,
    `ImageUrlNotAllowed`, `ExperimentsNotAllowed`, `NotConfigured`, or what `photo_of` and `sound_of` raise.
    """
    media_type = media_type_of(request)
    if media_type == "multipart/form-data":
        async with read_form(request, max_files=MAX_FORM_FILES, max_fields=MAX_FORM_FIELDS) as form:
            fields = validate(AnswerRequest, _text_fields(form))
            files = Files(await _file(form, "image"), await _file(form, "audio"))
    elif media_type == "application/json":
        fields, files = await read_body(request, _from_json)
    else:
        raise UnsupportedMediaType("Send multipart/form-data or application/json.")
    return await to_question(fields, files, gateway, caller, received)


async def to_question(
    fields: AnswerRequest, files: Files, gateway: Gateway, caller: Caller, received: Deadline
) -> Question:
    """Check the fields against the gateway's settings, and decode photo and sound.

    Raises `InvalidRequest`, `ExperimentsNotAllowed`, or what `photo_of` and `sound_of` raise.
    """
    settings = gateway.settings
    experiment = experiment_of(fields.experiment, settings)
    text = ""  # a spoken question has none
    if files.audio is None:
        if "question" not in fields.model_fields_set:
            raise InvalidRequest("question: must be given, in words or as audio.")
        text = question_text(fields.question, settings)
    elif fields.question.strip():
        raise InvalidRequest("question, audio: give one of the two.")
    deadline_ms = deadline_ms_of(fields.deadline_ms, settings)
    due = Deadline(received.at + deadline_ms / 1000, received.clock)
    sound = await sound_of(files.audio, gateway, caller, due) if files.audio is not None else None
    photo = await photo_of(files.image, gateway, caller, due) if files.image is not None else None
    return Question(
        text,
        photo,
        fields.session_id,
        deadline_ms,
        fields.pipeline or DEFAULT_PIPELINE,
        caller=caller,
        experiment=experiment,
        sound=sound,
        memory=fields.memory,
    )


async def _file(form: FormData, name: str) -> bytes | None:
    part = form.get(name)
    if isinstance(part, UploadFile):
        return await part.read()
    if part:
        raise InvalidRequest(f"{name}: must be a file part.")
    return None


def _text_fields(form: FormData) -> dict[str, Any]:
    unknown = set(form) - {*_FIELDS, *_FILES}
    if unknown:
        names = ", ".join(sorted((*_FIELDS, *_FILES)))
        raise InvalidRequest(f"{min(unknown)[:40]}: unknown field. The fields are {names}.")
    repeated = [name for name in form if len(form.getlist(name)) > 1]
    if repeated:
        raise InvalidRequest(f"{repeated[0]}: must be given once.")
    # A browser's form sends empty text for missing fields. An empty question stays one, and is refused.
    empty = {name for name in _FIELDS if name != "question" and form.get(name) == ""}
    fields: dict[str, Any] = {name: form[name] for name in _FIELDS if name in form and name not in empty}
    for name in _OBJECTS:
        if isinstance(text := fields.get(name), str):
            try:
                fields[name] = read_json(text, JSON_LIMITS)
            except MalformedRequest as error:
                raise InvalidRequest(f"{name}: must be a JSON object.") from error
    return fields


def _from_json(content: bytes) -> tuple[AnswerRequest, Files]:
    """Blocking: a photo in base64 takes tens of milliseconds to read."""
    body = read_json(content)
    if not isinstance(body, dict):
        raise InvalidRequest("body: must be a JSON object.")
    fields = validate(AnswerRequest, body)
    audio = fields.audio.base64 if fields.audio is not None else None
    if fields.image is None:
        return fields, Files(audio=audio)
    if fields.image.url is not None:
        raise ImageUrlNotAllowed("Image URLs are off; send the bytes as base64 or multipart.")
    if fields.image.base64 is None:
        raise InvalidRequest("image: give its bytes as base64.")
    return fields, Files(fields.image.base64, audio)


def experiment_of(experiment: Experiment | None, settings: GatewaySettings) -> Experiment | None:
    """Return the experiment. Raises `ExperimentsNotAllowed` unless the operator allows them."""
    if experiment is not None and not settings.experiments:
        raise ExperimentsNotAllowed(
            "experiment: this gateway's operator has not allowed it with LOREGLASS_GATEWAY_EXPERIMENTS."
        )
    return experiment


def question_text(text: str, settings: GatewaySettings) -> str:
    """Return the text without surrounding space. Raises `InvalidRequest`."""
    if len(text) > settings.max_question_chars:
        raise InvalidRequest(f"question: longer than {settings.max_question_chars} characters.")
    question = text.strip()
    if not question:
        raise InvalidRequest("question: must not be empty.")
    if _UNPRINTABLE.search(question):
        raise InvalidRequest("question: holds control characters or broken Unicode.")
    return question


def deadline_ms_of(requested: int | None, settings: GatewaySettings) -> int:
    """Return the deadline, by default the operator's. Raises `InvalidRequest`."""
    deadline_ms = settings.answer_deadline_ms if requested is None else requested
    if not 1 <= deadline_ms <= settings.max_deadline_ms:
        raise InvalidRequest(f"deadline_ms: must be from 1 to {settings.max_deadline_ms}.")
    return deadline_ms


async def photo_of(data: bytes, gateway: Gateway, caller: Caller, deadline: Deadline) -> Photo | None:
    """Decode a photo in one of a few processes; tenants take turns.

    Returns None if the deadline passed first: the answer then reports the timeout. Raises `Overloaded`, or
    what else `PhotoDecoders.clean` raises.
    """
    with span("photo"):
        try:
            async with gateway.photo_slots.admit(caller.tenant, caller.priority, deadline):
                side = gateway.settings.photo_max_side
                clean = await gateway.photos.clean(data, ImageLimits(), side, deadline)
        except DeadlineExceeded:
            return None
    return Photo(clean.jpeg, clean.width, clean.height, clean.digest)


async def sound_of(data: bytes, gateway: Gateway, caller: Caller, deadline: Deadline) -> Sound:
    """Decode a recording in one of a few processes; tenants take turns.

    Raises `NotConfigured` without a transcription server, `Overloaded` or `DeadlineExceeded` if its turn does
    not come, or what `SoundDecoders.clean` raises.
    """
    gateway.voice.require_transcriber()
    limits = AudioLimits(max_s=gateway.settings.audio_max_s)
    with span("sound"):
        async with gateway.voice.slots.admit(caller.tenant, caller.priority, deadline):
            return await gateway.voice.decoders.clean(data, limits, deadline)


async def gateway_of(request: Request) -> Gateway:
    """Return the wired gateway of this app."""
    gateway: Gateway = request.app.state.gateway
    return gateway


GatewayDep = Annotated[Gateway, Depends(gateway_of)]


async def caller_of(request: Request, gateway: GatewayDep) -> Caller:
    """Return the caller, and count the request for its tenant until the exchange ends.

    `request.state.place` may be handed to work that outlives the exchange; then the request counts until that
    work ends. Raises `Unauthorized` if keys are required, `InvalidRequest` for an unknown priority,
    `QuotaExceeded`.
    """
    sent, local = request.headers, is_sent_from_here(request.scope)
    caller = gateway.keys.caller(sent.get("authorization"), sent.get(PRIORITY), local=local)
    leave = await gateway.quotas.enter(caller.tenant)
    place: ExitStack = request.state.ended.enter_context(ExitStack())
    place.callback(leave)
    request.state.place = place
    return caller


CallerDep = Annotated[Caller, Depends(caller_of)]
