"""Voice in OpenAI's shapes, and the sound of answers by address."""

import math
from collections.abc import Callable

import anyio
import anyio.to_thread
from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from chassis.errors import InvalidRequest, LoreglassError
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router, read_body
from chassis.http.forms import read_form
from chassis.http.problems import note_problem, problem_response
from chassis.json_text import read_json
from chassis.resilience.deadlines import Deadline
from chassis.validation import first_fault, inlined_schema
from contracts.audio import SpeechRequest, Transcription, VerboseTranscription
from gateway.planning.run import side_by_side
from gateway.routes.dependencies import GatewayDep, caller_of
from gateway.routes.intake import sound_of
from gateway.routes.openai_errors import refused
from gateway.routes.ranges import ranged
from gateway.serving.tenants import Caller
from gateway.serving.voice import Voice
from gateway.speech.audio import Sound
from gateway.speech.signed_urls import PATH
from gateway.speech.sound_cache import Say
from gateway.speech.synthesis import AudioSink, Utterance
from gateway.speech.transcription import Transcript

router = Router()

_FORMATS = ("json", "text", "verbose_json")
_MAX_FORM_FIELDS = 32
_ANY_VOICE = "alloy"
"""OpenAI's first one, which the servers know that imitate it."""
_HEADERS = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
_FORM = {
    "type": "object",
    "required": ["file"],
    "properties": {
        "file": {"type": "string", "format": "binary"},
        "model": {"type": "string"},
        "response_format": {"type": "string", "enum": list(_FORMATS), "default": "json"},
    },
}


@router.post(
    "/v1/audio/transcriptions",
    response_model=Transcription | VerboseTranscription,
    openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}},
)
async def transcribe(request: Request, gateway: GatewayDep, exchange: RequestDeadline) -> Response:
    """The words of a recording, in OpenAI's shape. The model is the operator's choice."""
    try:
        caller = await caller_of(request, gateway)
        transcriber = gateway.voice.require_transcriber()
        data, shape = await _recording(request)
        sound = await sound_of(data, gateway, caller, exchange)
        async with gateway.voice.turn("stt", caller, exchange):
            heard = await transcriber.transcribe(sound, exchange)
    except LoreglassError as error:
        return refused(error, request.state.trace_id)
    return _transcription(heard, sound, shape)


async def _recording(request: Request) -> tuple[bytes, str]:
    """The file, and the form of reply that is wanted."""
    async with read_form(request, max_files=1, max_fields=_MAX_FORM_FIELDS) as form:
        file, shape = form.get("file"), form.get("response_format") or "json"
        if not isinstance(file, UploadFile):
            raise InvalidRequest("file: must be a file part.")
        if shape not in _FORMATS:
            raise InvalidRequest(f"response_format: must be one of {', '.join(_FORMATS)}.")
        if form.get("stream") == "true":
            raise InvalidRequest("stream: transcripts come as a whole.")
        return await file.read(), str(shape)


def _transcription(heard: Transcript, sound: Sound, shape: str) -> Response:
    if shape == "text":
        return PlainTextResponse(heard.text)
    if shape == "json":
        return JSONResponse(Transcription(text=heard.text).model_dump())
    seconds = round(sound.seconds, 3)
    verbose = VerboseTranscription(language=heard.language, duration=seconds, text=heard.text)
    return JSONResponse(verbose.model_dump())


@router.post(
    "/v1/audio/speech",
    response_class=Response,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": inlined_schema(SpeechRequest)}},
        }
    },
)
async def say(request: Request, gateway: GatewayDep, exchange: RequestDeadline) -> Response:
    """A text, spoken, in OpenAI's shape. Model and voice are the operator's choice, where they made one."""
    trace_id: str = request.state.trace_id
    try:
        caller = await caller_of(request, gateway)
        gateway.voice.require_synthesizer()
        asked = await read_body(request, _asked)
        most = gateway.settings.speech_max_chars
        if len(asked.input) > most:
            raise InvalidRequest(f"input: longer than {most} characters.")
        if not asked.input.strip():
            raise InvalidRequest("input: must not be empty.")
    except LoreglassError as error:
        return refused(error, trace_id)
    voice = asked.voice if isinstance(asked.voice, str) else asked.voice.id
    what = Utterance(
        asked.input,
        asked.response_format or "mp3",
        gateway.settings.tts_voice or voice or _ANY_VOICE,
        asked.speed,
    )
    return _SoundStream(
        _saying(gateway.voice, caller, what, exchange), lambda error: refused(error, trace_id)
    )


def _asked(body: bytes) -> SpeechRequest:
    try:
        return SpeechRequest.model_validate(read_json(body))
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}.") from error


@router.get(PATH + "/{address_id}", response_class=Response)
async def listen(
    address_id: str, request: Request, gateway: GatewayDep, exchange: RequestDeadline
) -> Response:
    """An answer's sound. The address, which is `Answer.speech`, entitles to it for a while, without a key."""
    voice, settings = gateway.voice, gateway.settings
    spoken_text = await voice.find(address_id)
    what = Utterance(spoken_text.text, settings.tts_format, settings.tts_voice or _ANY_VOICE)
    say = _saying(voice, Caller(spoken_text.tenant, spoken_text.priority), what, exchange)
    asked = request.headers.get("range")
    sound = await voice.sound_cache.get(address_id)
    if sound is None and asked is None:
        kept = voice.sound_cache.caching(address_id, say, spoken_text.tenant)
        return _SoundStream(kept, lambda error: problem_response(error, request.state.trace_id))
    if sound is None:
        sound = await voice.sound_cache.whole(address_id, say, spoken_text.tenant)
    return ranged(sound.content, sound.media_type, asked, _HEADERS)


def _saying(voice: Voice, caller: Caller, what: Utterance, deadline: Deadline) -> Say:
    async def say(sink: AudioSink) -> None:
        async with voice.turn("tts", caller, deadline):
            await voice.require_synthesizer().say(what, deadline, sink)

    return say


class _SoundStream(Response):
    """Runs `say`, and sends the sound as it comes; `refusal`: the reply to what goes wrong before it begins.

    Where it breaks off later the reply has no end, so that nobody takes it for the whole. Who listens slowly
    keeps no turn at the server: what is not sent yet waits here, and `Synthesizer` bounds how much that is.
    """

    def __init__(self, say: Say, refusal: Callable[[LoreglassError], Response]) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._say = say
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        made, unsent = anyio.create_memory_object_stream[tuple[str, bytes]](math.inf)
        failure: LoreglassError | None = None
        begun = False

        async def sink(media_type: str, piece: bytes) -> None:
            made.send_nowait((media_type, piece))

        async def make() -> None:
            nonlocal failure
            with made:
                try:
                    await self._say(sink)
                except LoreglassError as error:
                    failure = error

        async with side_by_side() as group, unsent:
            group.start_soon(make)
            async for media_type, piece in unsent:
                if not begun:
                    begun = True
                    self.headers["content-type"] = media_type
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        if failure is None:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif begun:
            note_problem(scope, failure)
        else:
            await self._refusal(failure)(scope, receive, send)
