"""Speech servers with OpenAI's API: transcription, synthesis, and the calls that both share.

`POST /v1/audio/transcriptions` (vLLM, speaches, whisper.cpp, ...) and `POST /v1/audio/speech`
(Kokoro-FastAPI, speaches, ...).
"""

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio
import structlog
from opentelemetry.trace import SpanKind
from pydantic import BaseModel, ValidationError

from chassis.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    LoreglassError,
    NotReady,
    NotSupported,
    Overloaded,
)
from chassis.http.calls import CONNECT_S, Form
from chassis.http.client import ConnectTimeoutError, Endpoint, ExchangeError, HttpClient, Response
from chassis.http.health import Note
from chassis.resilience.deadlines import Deadline, seconds_of
from chassis.resilience.guard import Guard
from chassis.telemetry.spans import span, trace_headers
from gateway.speech.audio import Sound

T = TypeVar("T")

_BUSY = (429, 503)
_OF_THE_REQUEST = (400, 413, 415, 422)
_MOST_REPLY_BYTES = 256 * 2**10
_MOST_TRANSCRIPT_CHARS = 16_384
"""Many times what anybody says in a minute."""
_NO_SPEECH = re.compile(r"(?:(?:\[[^\[\]]{1,200}\]|\([^()]{1,200}\)|\*[^*]{1,200}\*)\s*)+")
"""Lines that Whisper writes for sounds without words: [BLANK_AUDIO], (wind), *coughs*."""
_BLANK = re.compile(r"[♪♫\x00-\x1f\x7f\ud800-\udfff\s]+")
MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
"""OpenAI's response formats."""
_MOST_SOUND_BYTES = 32 * 2**20
_NO_TYPE = ("", "application/octet-stream")

AudioSink = Callable[[str, bytes], Awaitable[None]]
"""Receives the sound's media type and each piece as it arrives."""

log = structlog.get_logger()


class _RequestRefused(NotSupported):
    """The server works, and refuses this request: no failure to the guard."""


class SpeechServer:
    """Calls to one server, behind its guard. Raises `LoreglassError`s only."""

    def __init__(self, http: HttpClient, endpoint: Endpoint, guard: Guard) -> None:
        self.endpoint = endpoint
        self._http = http
        self._guard = guard

    async def call(self, work: Callable[[], Awaitable[T]], deadline: Deadline) -> T:
        """Run `work` behind the guard, within the caller's time.

        A refused request does not count as a failure: one caller's odd recordings must not open the breaker
        for others.
        """
        deadline.require()
        name = self.endpoint.name
        try:
            with anyio.fail_after(deadline.remaining_s()):
                return await self._guard.call(work, deadline)
        except TimeoutError as error:
            raise DeadlineExceeded(f"The server behind {name} did not answer in time.") from error
        except _RequestRefused as error:
            raise DependencyUnavailable(f"The server behind {name} does not take this request.") from error

    @asynccontextmanager
    async def post(self, path: str, media_type: str, body: bytes) -> AsyncIterator[Response]:
        """Yield a successful reply before its body is read. Raises as the class says, also from the body."""
        name, url = self.endpoint.name, self.endpoint.url(path)
        sent = {"Content-Type": media_type, **self.endpoint.authorization, **trace_headers()}
        attributes = {"http.request.method": "POST", "peer.service": name}
        with span(f"POST {name}", attributes, SpanKind.CLIENT) as call:
            try:
                async with self._http.exchange("POST", url, sent, body) as response:
                    call.set_attribute("http.response.status_code", response.status)
                    if not 200 <= response.status < 300:
                        raise self._failure(response)
                    yield response
            except ConnectTimeoutError as error:
                raise self.unusable("accepts no connections") from error
            except ExchangeError as error:
                raise self.unusable("cannot be reached") from error

    async def note(self, deadline: Deadline) -> Note:
        """Return what is wrong, for readiness. Not all servers have this route, but all reply.

        A failure keeps nobody from asking and reading.
        """
        url = self.endpoint.url("/models")
        try:
            with anyio.fail_after(min(CONNECT_S, deadline.remaining_s())):
                async with self._http.exchange("GET", url, self.endpoint.authorization) as reply:
                    status = reply.status  # the body is not read
        except (TimeoutError, ExchangeError):
            return Note(f"{self.endpoint.name} does not answer; clients use their device's own speech.")
        if status in (401, 403):
            return Note(f"{self.endpoint.name} refuses the key that the gateway was given.")
        return Note("ok")

    def unusable(self, what: str) -> DependencyUnavailable:
        """Log and return the error for a server that `what`."""
        log.warning("speech.failed", server=self.endpoint.name, reason=what)
        return DependencyUnavailable(f"The server behind {self.endpoint.name} {what}.")

    def _failure(self, response: Response) -> LoreglassError:
        name, status = self.endpoint.name, response.status
        if status in _BUSY:
            wait_s = seconds_of(response.headers.get("retry-after"), otherwise=1.0)
            return Overloaded(f"The server behind {name} is too busy.", retry_after_s=wait_s)
        if status in _OF_THE_REQUEST:
            log.error("speech.request_refused", server=name, status=status)
            return _RequestRefused()
        if status in (401, 403):
            log.error("speech.key_refused", server=name, status=status)
        if status == 404:
            log.error("speech.model_or_route_unknown", server=name, model=self.endpoint.model)
        return self.unusable(f"answered with status {status}")


async def _pieces(server: SpeechServer, response: Response, most: int) -> AsyncGenerator[bytes]:
    """Yield the body in pieces. Raises `DependencyUnavailable` if it is longer than `most` bytes."""
    size = 0
    async for piece in response.pieces():
        size += len(piece)
        if size > most:
            raise server.unusable("sent more than it was asked for")
        yield piece


class _TranscriptionWire(BaseModel):
    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript in one line; empty without speech. `language`: as the server names it, if it does."""

    text: str
    language: str = ""


class Transcriber(SpeechServer):
    """Transcribes by one server."""

    async def transcribe(self, sound: Sound, deadline: Deadline) -> Transcript:
        """Return the words of `sound`. Silence is not sent: models hear words in it.

        Raises `DependencyUnavailable`, `Overloaded` or `DeadlineExceeded`.
        """
        if sound.silent:
            return Transcript("")
        return await self.call(lambda: self._request(sound), deadline)

    async def _request(self, sound: Sound) -> Transcript:
        model = self.endpoint.model
        fields = {"response_format": "json", **({"model": model} if model else {})}
        media_type, body = Form([("file", ("question.wav", sound.wav, "audio/wav"))], fields).encode()
        async with self.post("/audio/transcriptions", media_type, body) as response:
            content = b"".join([piece async for piece in _pieces(self, response, _MOST_REPLY_BYTES)])
        try:
            reply = _TranscriptionWire.model_validate_json(content)
        except ValidationError as error:
            raise self.unusable("sent a reply of another shape") from error
        return Transcript(words_of(reply.text), (reply.language or "")[:40])


def words_of(text: str) -> str:
    """Return the words in one line; "" without a letter or digit."""
    lines = (line.strip() for line in text[:_MOST_TRANSCRIPT_CHARS].splitlines())
    words = _BLANK.sub(" ", " ".join(line for line in lines if not _NO_SPEECH.fullmatch(line))).strip()
    return words if any(character.isalnum() for character in words) else ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A text to speak. `speed` None: the server's own."""

    text: str
    format: str
    voice: str = ""
    speed: float | None = None


class Synthesizer(SpeechServer):
    """Speaks by one server."""

    async def say(self, what: Utterance, deadline: Deadline, sink: AudioSink) -> None:
        """Send the sound to `sink`, piece by piece, no byte twice.

        Raises `DependencyUnavailable`, `Overloaded` or `DeadlineExceeded`, and `NotReady` if it breaks off
        after the first piece: a guard repeats the others.
        """
        await self.call(lambda: self._request(what, sink), deadline)

    async def _request(self, what: Utterance, sink: AudioSink) -> None:
        fields = {
            **{"model": self.endpoint.model, "input": what.text, "voice": what.voice},
            **{"response_format": what.format, **({"speed": what.speed} if what.speed else {})},
        }
        body, started = json.dumps(fields).encode(), False
        try:
            async with self.post("/audio/speech", "application/json", body) as response:
                media_type = self._media_type(response.headers.get("content-type", ""), what.format)
                async with aclosing(_pieces(self, response, _MOST_SOUND_BYTES)) as pieces:
                    async for piece in pieces:
                        if piece:
                            started = True
                            await sink(media_type, piece)
                if not started:
                    raise self.unusable("sent no sound")
        except LoreglassError as error:
            if started:
                raise NotReady("The sound broke off.") from error
            raise

    def _media_type(self, sent: str, wanted: str) -> str:
        """Return the server's media type if it is a sound's: some servers have one format only."""
        kind = sent.partition(";")[0].strip().lower()
        if kind in _NO_TYPE:
            return MEDIA_TYPES[wanted]
        if kind.startswith("audio/") and kind.isascii() and kind.isprintable():
            return kind
        raise self.unusable("sent something that is no sound")
