"""Voice for OpenAI's clients: the official one asks."""

from collections.abc import AsyncIterator

import openai
import pytest
from openai import AsyncOpenAI

from tests.speech_servers import Manner, SpeechServers
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.speech.sounds import recorded, tone

pytestmark = pytest.mark.anyio

SAID = ("question.webm", recorded(tone(1.0), "webm"), "audio/webm")


@pytest.fixture
async def servers(anyio_backend: object) -> SpeechServers:
    return SpeechServers(words=QUESTION)


@pytest.fixture
async def world(services: FakeServices, servers: SpeechServers) -> AsyncIterator[World]:
    async with (
        servers.up() as url,
        gateway_before(services, stt_url=url, tts_url=url, tts_model="kokoro") as made,
    ):
        yield made


@pytest.fixture
async def client(world: World) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{world.url}/v1", api_key="none", max_retries=0) as made:
        yield made


async def test_recording_is_transcribed(client: AsyncOpenAI) -> None:
    assert (await client.audio.transcriptions.create(file=SAID, model="whisper-1")).text == QUESTION


async def test_transcript_as_text_or_with_its_duration_and_in_no_other_form(client: AsyncOpenAI) -> None:
    text = await client.audio.transcriptions.create(file=SAID, model="any", response_format="text")
    assert str(text) == QUESTION
    verbose = await client.audio.transcriptions.create(
        file=SAID, model="any", response_format="verbose_json", language="en", temperature=0.2
    )
    assert (verbose.text, verbose.duration) == (QUESTION, pytest.approx(1.0, abs=0.1))
    with pytest.raises(openai.UnprocessableEntityError, match="response_format"):
        await client.audio.transcriptions.create(file=SAID, model="any", response_format="srt")


async def test_errors_have_openais_shape(client: AsyncOpenAI, servers: SpeechServers) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        await client.audio.transcriptions.create(file=("a.wav", b"words", "audio/wav"), model="any")
    assert (refused.value.status_code, refused.value.code) == (415, "unsupported_audio")
    servers.manner = Manner.FAILS
    with pytest.raises(openai.InternalServerError, match="stt"):
        await client.audio.transcriptions.create(file=SAID, model="any")
    with pytest.raises(openai.InternalServerError, match="tts"):
        await client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.")


async def test_text_is_spoken_piece_by_piece(client: AsyncOpenAI, servers: SpeechServers) -> None:
    async with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="It is 330 metres high.", response_format="wav", speed=1.25
    ) as reply:
        sound = b"".join([piece async for piece in reply.iter_bytes(1024)])
    assert sound == servers.sound
    assert servers.said == [
        {
            "model": "kokoro",
            "input": "It is 330 metres high.",
            "voice": "alloy",
            "response_format": "wav",
            "speed": 1.25,
        }
    ]


async def test_long_or_empty_text_is_refused(client: AsyncOpenAI) -> None:
    for text in ("x" * 4_097, " "):
        with pytest.raises(openai.UnprocessableEntityError, match="input"):
            await client.audio.speech.create(model="tts-1", voice="alloy", input=text)


async def test_without_servers_it_is_not_configured(services: FakeServices) -> None:
    async with (
        gateway_before(services) as world,
        AsyncOpenAI(base_url=f"{world.url}/v1", api_key="none", max_retries=0) as client,
    ):
        with pytest.raises(openai.InternalServerError) as transcription:
            await client.audio.transcriptions.create(file=SAID, model="any")
        with pytest.raises(openai.InternalServerError) as speech:
            await client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.")
    assert {transcription.value.status_code, speech.value.status_code} == {501}
    assert transcription.value.code == "not_configured"
