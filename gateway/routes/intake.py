"""From a hostile request to a checked question: both forms of `POST /answer` end here."""

import re
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from chassis.errors import (
    DeadlineExceeded,
    ExperimentsNotAllowed,
    ImageUrlNotAllowed,
    InvalidRequest,
    MalformedRequest,
    UnsupportedMediaType,
)
from chassis.http.bodies import read_body
from chassis.http.forms import read_form
from chassis.images import ImageLimits, PhotoDecoders
from chassis.json_text import JsonLimits, read_json
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.spans import span
from chassis.validation import first_fault
from contracts.answer import DEFAULT_PIPELINE, AnswerRequest, Experiment
from gateway.serving.admission import Admission
from gateway.serving.execution import Question
from gateway.serving.tenants import Caller
from gateway.settings import GatewaySettings
from gateway.speech.audio import AudioLimits, Sound
from gateway.state import Photo
from gateway.wiring import Gateway

JSON_LIMITS = JsonLimits(max_bytes=None, max_items=512, max_depth=8)
"""Of a question: a few fields, with photo and sound in base64."""
MAX_FORM_FIELDS = 16
MAX_FORM_FILES = 2
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_FILES = ("image", "audio")
_FIELDS = ("question", "session_id", "deadline_ms", "pipeline", "experiment")


@dataclass(frozen=True, slots=True)
class Files:
    """What came with the fields, as it came."""

    image: bytes | None = None
    audio: bytes | None = None


async def read_question(request: Request, gateway: Gateway, caller: Caller, received: Deadline) -> Question:
    """The caller's question of a multipart or JSON request; its time runs from when it was `received`.

    Raises `MalformedRequest`, `InvalidRequest`, `PayloadTooLarge`, `UnsupportedMediaType`,
    `ImageUrlNotAllowed`, `ExperimentsNotAllowed`, `NotConfigured`, or what `photo_of` and `sound_of` raise.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        fields, files = await _from_form(request)
    elif kind == "application/json":
        fields, files = await read_body(request, _from_json)
    else:
        raise UnsupportedMediaType("Send multipart/form-data or application/json.")
    return await to_question(fields, files, gateway, caller, received)


async def to_question(
    fields: AnswerRequest, files: Files, gateway: Gateway, caller: Caller, received: Deadline
) -> Question:
    """The fields, checked against this gateway's settings, photo and sound decoded.

    Raises `InvalidRequest`, `ExperimentsNotAllowed`, or what `photo_of` and `sound_of` raise.
    """
    experiment = allowed(fields.experiment, gateway.settings)
    text = _asked_in_words(fields, files, gateway.settings)
    deadline_ms = checked_deadline_ms(fields.deadline_ms, gateway.settings)
    due = Deadline(received.at + deadline_ms / 1000, received.clock)
    sound = await sound_of(files.audio, gateway, caller, due) if files.audio is not None else None
    photo = None
    if files.image is not None:
        photo = await photo_of(
            files.image, gateway.settings, gateway.photos, gateway.photo_slots, due, caller
        )
    pipeline = fields.pipeline or DEFAULT_PIPELINE
    return Question(
        text,
        photo,
        fields.session_id,
        deadline_ms,
        pipeline,
        caller=caller,
        experiment=experiment,
        sound=sound,
    )


def _asked_in_words(fields: AnswerRequest, files: Files, settings: GatewaySettings) -> str:
    """The question, or "" where it was spoken. Raises `InvalidRequest` unless it came one way."""
    if files.audio is None:
        if "question" not in fields.model_fields_set:
            raise InvalidRequest("question: must be given, in words or as audio.")
        return question_text(fields.question, settings)
    if fields.question.strip():
        raise InvalidRequest("question, audio: give one of the two.")
    return ""


async def _from_form(request: Request) -> tuple[AnswerRequest, Files]:
    async with read_form(request, max_files=MAX_FORM_FILES, max_fields=MAX_FORM_FIELDS) as form:
        fields = as_fields(_text_fields(form))
        return fields, Files(**{name: await _file(form, name) for name in _FILES})


async def _file(form: FormData, name: str) -> bytes | None:
    given = form.get(name)
    if isinstance(given, UploadFile):
        return await given.read()
    if given:
        raise InvalidRequest(f"{name}: must be a file part.")
    return None


def _text_fields(form: FormData) -> dict[str, Any]:
    unknown = set(form) - {*_FIELDS, *_FILES}
    if unknown:
        raise InvalidRequest(f"{min(unknown)[:40]}: there is no such field.")
    repeated = [name for name in form if len(form.getlist(name)) > 1]
    if repeated:
        raise InvalidRequest(f"{repeated[0]}: must be given once.")
    # A browser's form sends what was left out as an empty text; an empty question is said to be one.
    empty = {name for name in _FIELDS if name != "question" and form.get(name) == ""}
    fields: dict[str, Any] = {name: form[name] for name in _FIELDS if name in form and name not in empty}
    if isinstance(given := fields.get("experiment"), str):
        try:
            fields["experiment"] = read_json(given, JSON_LIMITS)
        except MalformedRequest as error:
            raise InvalidRequest("experiment: must be a JSON object.") from error
    return fields


def _from_json(content: bytes) -> tuple[AnswerRequest, Files]:
    """Blocking: a photo in base64 takes tens of milliseconds to read."""
    body = read_json(content)
    if not isinstance(body, dict):
        raise InvalidRequest("body: must be a JSON object.")
    fields = as_fields(body)
    audio = fields.audio.base64 if fields.audio is not None else None
    if fields.image is None:
        return fields, Files(audio=audio)
    if fields.image.url is not None:
        raise ImageUrlNotAllowed("Image URLs are off; send the bytes as base64 or multipart.")
    if fields.image.base64 is None:
        raise InvalidRequest("image: give its bytes as base64.")
    return fields, Files(fields.image.base64, audio)


def as_fields(values: dict[str, Any]) -> AnswerRequest:
    """The values as `AnswerRequest`. Raises `InvalidRequest`, which names the first fault."""
    try:
        return AnswerRequest.model_validate(values)
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}.") from error


def allowed(experiment: Experiment | None, settings: GatewaySettings) -> Experiment | None:
    """The same, where the operator allows it. Raises `ExperimentsNotAllowed`."""
    if experiment is not None and not settings.experiments:
        raise ExperimentsNotAllowed(
            "experiment: this gateway's operator has not allowed it with LOREGLASS_GATEWAY_EXPERIMENTS."
        )
    return experiment


def question_text(text: str, settings: GatewaySettings) -> str:
    if len(text) > settings.max_question_chars:
        raise InvalidRequest(f"question: longer than {settings.max_question_chars} characters.")
    cleaned = text.strip()
    if not cleaned:
        raise InvalidRequest("question: must not be empty.")
    if _UNPRINTABLE.search(cleaned):
        raise InvalidRequest("question: holds control characters or broken Unicode.")
    return cleaned


def checked_deadline_ms(asked: int | None, settings: GatewaySettings) -> int:
    deadline_ms = settings.answer_deadline_ms if asked is None else asked
    if not settings.min_deadline_ms <= deadline_ms <= settings.max_deadline_ms:
        raise InvalidRequest(
            f"deadline_ms: must be from {settings.min_deadline_ms} to {settings.max_deadline_ms}."
        )
    return deadline_ms


async def photo_of(
    data: bytes,
    settings: GatewaySettings,
    photos: PhotoDecoders,
    slots: Admission,
    deadline: Deadline,
    caller: Caller,
) -> Photo | None:
    """Decoded by one of a few processes, the tenants taking turns; None where the time was over first.

    That is for the answer to say, as for everything that ran out of time. Raises `Overloaded`, or what else
    `PhotoDecoders.clean` raises.
    """
    limits = ImageLimits(max_bytes=settings.photo_max_bytes)
    with span("photo"):
        try:
            async with slots.admitted(caller.tenant, caller.priority, deadline):
                clean = await photos.clean(data, limits, settings.photo_max_side, deadline)
        except DeadlineExceeded:
            return None
    return Photo(clean.jpeg, clean.width, clean.height, clean.digest)


async def sound_of(data: bytes, gateway: Gateway, caller: Caller, deadline: Deadline) -> Sound:
    """Decoded by one of a few processes, the tenants taking turns.

    Raises `NotConfigured` where nothing here hears, `Overloaded` or `DeadlineExceeded` when its turn does not
    come, or what `SoundDecoders.clean` raises.
    """
    gateway.voice.require_transcriber()
    limits = AudioLimits(gateway.settings.audio_max_bytes, gateway.settings.audio_max_s)
    with span("sound"):
        async with gateway.voice.slots.admitted(caller.tenant, caller.priority, deadline):
            return await gateway.voice.decoders.clean(data, limits, deadline)
