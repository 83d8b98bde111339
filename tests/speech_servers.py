"""Servers of OpenAI's speech routes for tests: one of script, and one that really hears and speaks.

Their replies are held against the types of OpenAI's own client (tests/unit/gateway/test_spoken_answers.py).
"""

import asyncio
import io
import shutil
import subprocess
import threading
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from fastapi import FastAPI, Request
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from tests.live import served


class Manner(Enum):
    """How a speech server behaves."""

    WELL = auto()
    FAILS = auto()
    BUSY = auto()
    HANGS = auto()
    REFUSES_REQUEST = auto()
    REFUSES_KEY = auto()
    OTHER_SHAPE = auto()
    ENDLESS = auto()
    BREAKS_OFF = auto()


@dataclass
class Heard:
    """A request for words."""

    wav: bytes
    fields: dict[str, str]
    authorization: str | None


@dataclass
class SpeechServers:
    """Says `words` whatever it hears, and `sound` whatever it is to say; both keep what they were asked."""

    words: str = "Who wrote this book?"
    sound: bytes = b"ID3" + bytes(50_000)
    media_type: str = "audio/mpeg"
    manner: Manner = Manner.WELL
    heard: list[Heard] = field(default_factory=list)
    utterances: list[dict[str, Any]] = field(default_factory=list)
    arrived: anyio.Event | None = None
    release: anyio.Event = field(default_factory=anyio.Event)

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.get("/v1/models")
        async def models() -> Response:
            if self.manner is Manner.REFUSES_KEY:
                return JSONResponse({"error": {"message": "no"}}, 401)
            if self.manner is Manner.ENDLESS:
                return StreamingResponse(self._endless())
            return JSONResponse({"object": "list", "data": []})

        @app.post("/v1/audio/transcriptions")
        async def transcribe(request: Request) -> Response:
            async with request.form() as form:
                file = form["file"]
                assert isinstance(file, UploadFile)
                fields = {name: str(form[name]) for name in form if name != "file"}
                self.heard.append(Heard(await file.read(), fields, request.headers.get("authorization")))
            return await self._misbehaving() or JSONResponse({"text": self.words})

        @app.post("/v1/audio/speech")
        async def say(request: Request) -> Response:
            self.utterances.append(await request.json())
            if self.manner is Manner.BREAKS_OFF:
                return StreamingResponse(self._breaking_off(), media_type=self.media_type)
            return await self._misbehaving() or StreamingResponse(self._pieces(), media_type=self.media_type)

        return app

    async def _misbehaving(self) -> Response | None:
        if self.manner is Manner.HANGS:
            if self.arrived is not None:
                self.arrived.set()
            await self.release.wait()
        statuses = {Manner.FAILS: 500, Manner.BUSY: 503, Manner.REFUSES_REQUEST: 400, Manner.REFUSES_KEY: 401}
        if self.manner in statuses:
            return JSONResponse({"error": {"message": "the inside"}}, statuses[self.manner])
        if self.manner is Manner.OTHER_SHAPE:
            return PlainTextResponse("<html>a page</html>", media_type="text/html")
        if self.manner is Manner.ENDLESS:
            return StreamingResponse(self._endless(), media_type=self.media_type)
        return None

    async def _pieces(self) -> AsyncIterator[bytes]:
        sound = self.sound
        for start in range(0, len(sound), 8_192):
            yield sound[start : start + 8_192]

    async def _endless(self) -> AsyncIterator[bytes]:
        while True:
            yield bytes(2**20)
            await anyio.lowlevel.checkpoint()

    async def _breaking_off(self) -> AsyncIterator[bytes]:
        yield self.sound[:100]
        await asyncio.sleep(0)
        raise ConnectionAbortedError

    @asynccontextmanager
    async def up(self) -> AsyncIterator[str]:
        """Its address."""
        async with served(self.app()) as url:
            self.release = anyio.Event()
            yield url
            self.release.set()


class Listener:
    """Hears English with pocketsphinx and the model that its wheel brings. Blocking; one at a time.

    By a grammar of questions about things (`questions.gram`): without one, a model of this age mishears a
    synthesiser's sentences.
    """

    def __init__(self) -> None:
        pocketsphinx = pytest.importorskip("pocketsphinx", reason="pocketsphinx is not installed")
        grammar = Path(__file__).with_name("questions.gram")
        self._decoder = pocketsphinx.Decoder(samprate=16_000, loglevel="FATAL", jsgf=str(grammar), lm=None)
        self._lock = threading.Lock()

    def words(self, wav: bytes) -> str:
        """What is said in a WAV of 16 kHz, mono, 16 bits."""
        with wave.open(io.BytesIO(wav)) as sound:
            assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 16_000)
            samples = sound.readframes(sound.getnframes())
        with self._lock:
            self._decoder.start_utt()
            self._decoder.process_raw(samples, no_search=False, full_utt=True)
            self._decoder.end_utt()
            hypothesis = self._decoder.hyp()
        return str(hypothesis.hypstr) if hypothesis is not None else ""


def spoken_by_espeak(words: str) -> bytes:
    """A WAV of 22,050 Hz, as Debian's espeak-ng says it."""
    if shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed")
    command = ["espeak-ng", "--stdout", "-v", "en-us+f3", "-s", "120", "--", words]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return result.stdout


def real_app(listener: Listener) -> FastAPI:
    """Both routes for real: pocketsphinx hears, espeak-ng speaks, as WAV whatever is asked for."""
    app = FastAPI()

    @app.post("/v1/audio/transcriptions")
    async def transcribe(request: Request) -> dict[str, str]:
        async with request.form() as form:
            file = form["file"]
            assert isinstance(file, UploadFile)
            wav = await file.read()
        return {"text": await anyio.to_thread.run_sync(listener.words, wav)}

    @app.post("/v1/audio/speech")
    async def say(request: Request) -> Response:
        wav = await anyio.to_thread.run_sync(spoken_by_espeak, (await request.json())["input"])
        return Response(wav, media_type="audio/wav")

    return app
