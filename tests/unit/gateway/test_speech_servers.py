"""The speech servers of these tests against OpenAI's own client, and a question that is really heard."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from openai import AsyncOpenAI
from openai.types.audio import Transcription

from chassis.http.serving import BoundApp, listen, running
from tests.speech_servers import Listener, SpeechServers, real_app
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import gateway_before
from tests.unit.gateway.speech.sounds import tone

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def listener() -> Listener:
    return Listener()


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with running([bound]):
        yield bound.url


@pytest.mark.parametrize(("name", "kind"), [("script", "audio/mpeg"), ("real", "audio/wav")])
async def test_test_servers_have_openais_shape(listener: Listener, name: str, kind: str) -> None:
    app = real_app(listener) if name == "real" else SpeechServers(words="hello").app()
    async with serving(app) as url, AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        raw = await client.audio.transcriptions.with_raw_response.create(
            file=("a.wav", tone(0.5), "audio/wav"), model="whisper-1", response_format="json"
        )
        assert Transcription.model_validate(json.loads(raw.content), strict=True).text is not None
        sound = await client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.")
    assert sound.response.headers["content-type"] == kind
    assert sound.content


async def test_gateway_transcribes_what_it_speaks(services: FakeServices, listener: Listener) -> None:
    """espeak-ng speaks, pocketsphinx transcribes."""
    words = "how heavy is this camera"
    async with (
        serving(real_app(listener)) as url,
        gateway_before(services, stt_url=url, tts_url=url) as world,
    ):
        said = await world.client.post("/v1/audio/speech", json={"input": words, "voice": "any"})
        files = {"file": ("said", said.content)}
        heard = await world.client.post("/v1/audio/transcriptions", files=files, data={"model": "any"})
    assert said.headers["content-type"] == "audio/wav"
    assert heard.json() == {"text": words}
