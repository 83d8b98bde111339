"""Speech to text: a server of OpenAI's `POST /v1/audio/transcriptions` (vLLM, speaches, whisper.cpp, …)."""

import re
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from chassis.http.multipart import form
from chassis.resilience.deadlines import Deadline
from gateway.speech.audio import Sound
from gateway.speech.server import SpeechServer, bounded

_MOST_REPLY_BYTES = 256 * 2**10
_MOST_CHARS = 16_384
"""Of a transcript, many times what anybody says in a minute."""
_NO_SPEECH = re.compile(r"(?:(?:\[[^\[\]]{1,200}\]|\([^()]{1,200}\)|\*[^*]{1,200}\*)\s*)+")
"""What Whisper writes of sounds that are no words, in lines of their own: [BLANK_AUDIO], (wind), *coughs*."""
_BLANK = re.compile(r"[♪♫\x00-\x1f\x7f\ud800-\udfff\s]+")


class _TranscriptionWire(BaseModel):
    text: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said, in one line; empty where nothing was. `language`: as the server names it, if it does."""

    text: str
    language: str = ""


class Transcriber:
    """Asks one server. Raises `LoreglassError`s only."""

    def __init__(self, server: SpeechServer) -> None:
        self._server = server

    async def transcribe(self, sound: Sound, deadline: Deadline) -> Transcript:
        """The words of `sound`. Silence is not sent: models hear words in it.

        Raises `DependencyUnavailable`, `Overloaded` or `DeadlineExceeded`.
        """
        if sound.silent:
            return Transcript("")
        return await self._server.guarded(lambda: self._asked(sound), deadline)

    async def _asked(self, sound: Sound) -> Transcript:
        model = self._server.endpoint.model
        fields = {"response_format": "json", **({"model": model} if model else {})}
        media_type, body = form([("file", ("question.wav", sound.wav, "audio/wav"))], fields)
        async with self._server.posted("/audio/transcriptions", media_type, body) as response:
            content = b"".join([piece async for piece in bounded(self._server, response, _MOST_REPLY_BYTES)])
        try:
            told = _TranscriptionWire.model_validate_json(content)
        except ValidationError as error:
            raise self._server.unusable("sent a reply of another shape") from error
        return Transcript(words_of(told.text), (told.language or "")[:40])


def words_of(text: str) -> str:
    """The words alone, in one line; nothing where there is no letter or figure among them."""
    lines = (line.strip() for line in text[:_MOST_CHARS].splitlines())
    said = _BLANK.sub(" ", " ".join(line for line in lines if not _NO_SPEECH.fullmatch(line))).strip()
    return said if any(character.isalnum() for character in said) else ""
