"""Text to speech: a server of OpenAI's `POST /v1/audio/speech` (Kokoro-FastAPI, speaches, …)."""

import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from chassis.errors import LoreglassError, NotReady
from chassis.resilience.deadlines import Deadline
from gateway.speech.server import SpeechServer, bounded

MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
"""OpenAI's response formats."""
_MOST_BYTES = 32 * 2**20
_UNTOLD = ("", "application/octet-stream")

AudioSink = Callable[[str, bytes], Awaitable[None]]
"""Is given the sound's media type and each of its pieces as it comes."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What is to be said, and how; `speed` None: as the server does."""

    text: str
    format: str
    voice: str = ""
    speed: float | None = None


class Synthesizer:
    """Asks one server. Raises `LoreglassError`s only."""

    def __init__(self, server: SpeechServer) -> None:
        self._server = server

    async def say(self, what: Utterance, deadline: Deadline, sink: AudioSink) -> None:
        """Have `sink` get the sound of `what`, piece by piece, no byte twice.

        Raises `DependencyUnavailable`, `Overloaded` or `DeadlineExceeded`, and `NotReady` where it breaks off
        after it has begun: a guard repeats the others.
        """
        await self._server.guarded(lambda: self._asked(what, sink), deadline)

    async def _asked(self, what: Utterance, sink: AudioSink) -> None:
        said = {"model": self._server.endpoint.model, "input": what.text, "voice": what.voice}
        asked = {**said, "response_format": what.format, **({"speed": what.speed} if what.speed else {})}
        body, begun = [json.dumps(asked).encode()], False
        try:
            async with self._server.posted("/audio/speech", "application/json", body) as response:
                media_type = self._media_type(response.headers.get("content-type", ""), what.format)
                async with aclosing(bounded(self._server, response, _MOST_BYTES)) as pieces:
                    async for piece in pieces:
                        if piece:
                            begun = True
                            await sink(media_type, piece)
                if not begun:
                    raise self._server.unusable("sent no sound")
        except LoreglassError as error:
            if begun:
                raise NotReady("The sound broke off.") from error
            raise

    def _media_type(self, told: str, asked: str) -> str:
        """The server's, if it is a sound's: some have one format only."""
        kind = told.partition(";")[0].strip().lower()
        if kind in _UNTOLD:
            return MEDIA_TYPES[asked]
        if kind.startswith("audio/") and kind.isascii() and kind.isprintable():
            return kind
        raise self._server.unusable("sent something that is no sound")
