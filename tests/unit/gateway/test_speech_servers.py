"""The speech servers of these tests against OpenAI's own client, and a question that is really heard."""

import json
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO

import pytest
from fastapi import FastAPI
from openai import AsyncOpenAI
from openai.types.audio import Transcription

from chassis.http.serving import BoundApp, listen, running
from tests.speech_servers import Listener, SpeechServers, real_app, spoken_by_espeak
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, gateway_before
from tests.unit.gateway.speech.sounds import recorded, tone

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def listener() -> Listener:
    return Listener()


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with running([bound]):
        yield bound.url


@pytest.fixture
def apps(listener: Listener) -> dict[str, FastAPI]:
    return {"script": SpeechServers(words="hello").app(), "real": real_app(listener)}


@pytest.mark.parametrize("name", ["script", "real"])
async def test_a_test_server_transcribes_as_openais_client_reads_it(
    apps: dict[str, FastAPI], name: str
) -> None:
    async with serving(apps[name]) as url, AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        raw = await client.audio.transcriptions.with_raw_response.create(
            file=("a.wav", tone(0.5), "audio/wav"), model="whisper-1", response_format="json"
        )
    assert Transcription.model_validate(json.loads(raw.content), strict=True).text is not None


@pytest.mark.parametrize(("name", "kind"), [("script", "audio/mpeg"), ("real", "audio/wav")])
async def test_a_test_server_speaks_as_openais_client_reads_it(
    apps: dict[str, FastAPI], name: str, kind: str
) -> None:
    async with serving(apps[name]) as url, AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        sound = await client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.")
    assert sound.response.headers["content-type"] == kind
    assert sound.content


ASKED = {
    "who wrote this book": "wav",
    "how many pages does this book have": "webm",
    "how high is the tower": "m4a",
    "in which year was this game published": "ogg",
}


@pytest.mark.parametrize(("question", "container"), ASKED.items())
async def test_a_question_that_espeak_says_is_heard_by_pocketsphinx_and_answered(
    services: FakeServices, listener: Listener, question: str, container: str
) -> None:
    recording = recorded(spoken_by_espeak(question), container, "mono")
    async with (
        serving(real_app(listener)) as url,
        gateway_before(services, stt_url=url) as world,
    ):
        files = {"audio": ("question", recording), "image": ("photo.jpg", PHOTO, "image/jpeg")}
        answer = (await world.client.post("/answer", files=files)).json()
    assert answer["transcript"] == question
    assert world.reasoner.asked[0].question == question
    assert answer["answer"]


async def test_what_the_gateway_says_it_can_hear(services: FakeServices, listener: Listener) -> None:
    """Voice out and in: espeak-ng behind the gateway says what pocketsphinx behind it hears."""
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


async def test_an_answer_can_be_listened_to(services: FakeServices, listener: Listener) -> None:
    async with serving(real_app(listener)) as url, gateway_before(services, tts_url=url) as world:
        sound = await world.client.get((await world.ask()).speech or "")
    with wave.open(BytesIO(sound.content)) as opened:
        assert opened.getframerate() == 22_050
        assert opened.readframes(100_000_000).strip(b"\0")
