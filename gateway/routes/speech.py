"""Speech in OpenAI's shapes, and the sound of answers at signed addresses."""

import math
import re
from collections.abc import Callable

import anyio
import anyio.to_thread
from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from chassis.errors import InvalidRequest, LoreglassError
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router, read_body, read_form
from chassis.http.problems import note_problem, problem_response
from chassis.json_text import read_json
from chassis.resilience.deadlines import Deadline
from chassis.validation import inlined_schema, validate
from contracts.audio import SpeechRequest, Transcription, VerboseTranscription
from gateway.planning.prefetch import side_by_side
from gateway.routes.chat import openai_refusal
from gateway.routes.intake import CallerDep, GatewayDep, sound_of
from gateway.routes.streaming import Sender
from gateway.serving.tenants import Caller
from gateway.serving.voice import Voice
from gateway.speech.servers import AudioSink, Utterance
from gateway.speech.spoken_answers import PATH, Say

router = Router()

_FORMATS = ("json", "text", "verbose_json")
_MAX_FORM_FIELDS = 32
_ANY_VOICE = "alloy"
"""OpenAI's first voice. Servers that imitate its API know it."""
_ONE_RANGE = re.compile(r"bytes=([0-9]{0,12})-([0-9]{0,12})", re.IGNORECASE)
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
async def transcribe(
    request: Request, gateway: GatewayDep, caller: CallerDep, exchange: RequestDeadline
) -> Response:
    """Transcribe a recording, in OpenAI's format. The operator chooses the model."""
    transcriber = gateway.voice.require_transcriber()
    data, response_format = await _recording(request)
    sound = await sound_of(data, gateway, caller, exchange)
    async with gateway.voice.turns["stt"].admit(caller.tenant, caller.priority, exchange):
        transcript = await transcriber.transcribe(sound, exchange)
    if response_format == "text":
        return PlainTextResponse(transcript.text)
    if response_format == "json":
        return JSONResponse(Transcription(text=transcript.text).model_dump())
    seconds = round(sound.seconds, 3)
    verbose = VerboseTranscription(language=transcript.language, duration=seconds, text=transcript.text)
    return JSONResponse(verbose.model_dump())


async def _recording(request: Request) -> tuple[bytes, str]:
    async with read_form(request, max_files=1, max_fields=_MAX_FORM_FIELDS) as form:
        file, response_format = form.get("file"), form.get("response_format") or "json"
        if not isinstance(file, UploadFile):
            raise InvalidRequest("file: must be a file part.")
        if response_format not in _FORMATS:
            raise InvalidRequest(f"response_format: must be one of {', '.join(_FORMATS)}.")
        if form.get("stream") == "true":
            raise InvalidRequest("stream: transcripts come as a whole.")
        return await file.read(), str(response_format)


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
async def say(
    request: Request, gateway: GatewayDep, caller: CallerDep, exchange: RequestDeadline
) -> Response:
    """Speak a text, in OpenAI's format. The operator may have chosen model and voice."""
    gateway.voice.require_synthesizer()
    speech = await read_body(request, lambda body: validate(SpeechRequest, read_json(body)))
    if len(speech.input) > gateway.voice.most_chars:
        raise InvalidRequest(f"input: longer than {gateway.voice.most_chars} characters.")
    if not speech.input.strip():
        raise InvalidRequest("input: must not be empty.")
    voice = speech.voice if isinstance(speech.voice, str) else speech.voice.id
    utterance = Utterance(
        speech.input,
        speech.response_format or "mp3",
        gateway.settings.tts_voice or voice or _ANY_VOICE,
        speech.speed,
    )
    return _SoundStream(
        _say(gateway.voice, caller, utterance, exchange),
        lambda error: openai_refusal(error, request.state.trace_id),
    )


@router.get(PATH + "/{address_id}", response_class=Response)
async def listen(
    address_id: str, request: Request, gateway: GatewayDep, exchange: RequestDeadline
) -> Response:
    """Return an answer's sound. The address is `Answer.speech`; it is valid for a while, without a key."""
    voice, settings = gateway.voice, gateway.settings
    text = await voice.find(address_id)
    utterance = Utterance(text.text, settings.tts_format, settings.tts_voice or _ANY_VOICE)
    say = _say(voice, Caller(text.tenant, text.priority), utterance, exchange)
    byte_range = request.headers.get("range")
    sound = await voice.sound_cache.get(address_id)
    if sound is None and byte_range is None:
        return _SoundStream(
            lambda sink: voice.sound_cache.make(address_id, say, text.tenant, sink),
            lambda error: problem_response(error, request.state.trace_id),
        )
    if sound is None:
        sound = await voice.sound_cache.make(address_id, say, text.tenant)
    return _in_range(sound.content, sound.media_type, byte_range)


def _say(voice: Voice, caller: Caller, utterance: Utterance, deadline: Deadline) -> Say:
    async def say(sink: AudioSink) -> None:
        async with voice.turns["tts"].admit(caller.tenant, caller.priority, deadline):
            await voice.require_synthesizer().say(utterance, deadline, sink)

    return say


def _in_range(content: bytes, media_type: str, byte_range: str | None) -> Response:
    """Return all of a sound, or one part of it (RFC 9110, section 14); a range that is not valid means all.

    iPhones play no sound whose server does not send parts.
    """
    headers = {**_HEADERS, "Accept-Ranges": "bytes"}
    match = _ONE_RANGE.fullmatch(byte_range.strip()) if byte_range else None
    first, last = match.groups() if match else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        return Response(content, 200, headers, media_type)
    size = len(content)
    start = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if start >= size:
        return Response(b"", 416, {**headers, "Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    return Response(content[start:end], 206, headers, media_type)


class _SoundStream(Response):
    """Sends the sound that `say` makes, as it arrives. `refusal`: the reply to an error before it begins.

    After a later error the reply has no end, so that no client takes it for the whole sound. A slow client
    does not hold its turn at the server: unsent sound waits here, and `Synthesizer` bounds its size.
    """

    def __init__(self, say: Say, refusal: Callable[[LoreglassError], Response]) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._say = say
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sound, unsent = anyio.create_memory_object_stream[tuple[str, bytes]](math.inf)
        sender = Sender(send, self)
        failure: LoreglassError | None = None

        async def sink(media_type: str, piece: bytes) -> None:
            sound.send_nowait((media_type, piece))

        async def make() -> None:
            nonlocal failure
            with sound:
                try:
                    await self._say(sink)
                except LoreglassError as error:
                    failure = error

        async with side_by_side() as group, unsent:
            group.start_soon(make)
            async for media_type, piece in unsent:
                self.headers["content-type"] = media_type
                await sender.write(piece)
        if failure is None:
            await sender.end()
        elif sender.started:
            note_problem(scope, failure)
        else:
            await self._refusal(failure)(scope, receive, send)
