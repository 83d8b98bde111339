"""Spoken answers, and speech for OpenAI's clients."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import openai
import pytest
from openai import AsyncOpenAI

from chassis.keys import ApiKey
from contracts.answer import Answer, Reason
from tests.live import closed_port
from tests.speech_servers import Manner, SpeechServers
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import QUESTION, World, bearer, gateway_before, keys_file
from tests.unit.gateway.reasoners import ScriptedReasoner
from tests.unit.gateway.speech.sounds import recorded, tone


@asynccontextmanager
async def speaking(
    services: FakeServices, servers: SpeechServers, reasoner: ScriptedReasoner | None = None, **settings: Any
) -> AsyncIterator[World]:
    """A gateway that hears and speaks by `servers`."""
    async with servers.up() as url:
        voice = {"stt_url": url, "tts_url": url, "tts_model": "kokoro"}
        async with gateway_before(services, reasoner, **(voice | settings)) as world:
            yield world


@pytest.fixture
async def world(services: FakeServices, servers: SpeechServers) -> AsyncIterator[World]:
    async with speaking(services, servers) as made:
        yield made


async def address(world: World, **fields: str) -> str:
    speech = (await world.ask(**fields)).speech
    assert speech is not None
    return speech


async def test_address_gives_the_sound_of_the_answer(world: World, servers: SpeechServers) -> None:
    answer = await world.ask()
    assert answer.speech is not None
    assert servers.utterances == []  # nothing is spoken before somebody listens
    reply = await world.client.get(answer.speech)
    assert (reply.status_code, reply.content) == (200, servers.sound)
    assert reply.headers["content-type"] == "audio/mpeg"
    assert reply.headers["cache-control"] == "private, no-store"
    assert reply.headers["x-content-type-options"] == "nosniff"
    [speech] = servers.utterances
    assert speech["input"] == answer.answer
    assert speech["response_format"] == "mp3"


async def test_slow_client_does_not_hold_the_server(services: FakeServices, servers: SpeechServers) -> None:
    """What was sent is more than the network holds, so that the gateway cannot send it all."""
    async with speaking(services, servers, tts_at_once=1) as world:
        slow, other = await address(world), await address(world)
        servers.sound = b"ID3" + bytes(24 * 2**20)
        async with world.client.stream("GET", slow) as unread:
            assert unread.status_code == 200
            servers.sound = b"ID3"
            with anyio.fail_after(10):
                assert (await world.client.get(other)).content == b"ID3"
            assert sum([len(piece) async for piece in unread.aiter_bytes()]) == 24 * 2**20 + 3


async def test_transcription_and_synthesis_have_separate_queues(
    services: FakeServices, servers: SpeechServers
) -> None:
    one = {"stt_at_once": 1, "tts_at_once": 1, "max_waiting": 0}
    async with servers.up() as url, gateway_before(services, stt_url=url, tts_url=url, **one) as world:
        servers.manner, servers.arrived = Manner.HANGS, anyio.Event()
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(world.client.get, await address(world))
            with anyio.fail_after(10):
                await servers.arrived.wait()
            servers.manner = Manner.WELL
            transcription = await world.client.post("/v1/audio/transcriptions", files={"file": tone(0.5)})
            metrics = (await world.client.get("/metrics")).text
            servers.release.set()
    assert (transcription.status_code, transcription.json()["text"]) == (200, servers.words)
    assert 'loreglass_admission_in_flight{tier="tts"} 1.0' in metrics


async def test_sound_is_made_once_and_sent_in_parts(world: World, servers: SpeechServers) -> None:
    speech, size = await address(world), len(servers.sound)
    for byte_range, first, last in (
        ("bytes=0-1", 0, 1),
        ("bytes=10-", 10, size - 1),
        ("bytes=-7", size - 7, size - 1),
        ("Bytes=49990-999999", 49_990, size - 1),
    ):
        part = await world.client.get(speech, headers={"Range": byte_range})
        assert (part.status_code, part.content) == (206, servers.sound[first : last + 1])
        assert part.headers["content-range"] == f"bytes {first}-{last}/{size}"
        assert part.headers["cache-control"] == "private, no-store"
    beyond = await world.client.get(speech, headers={"Range": "bytes=60000-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{size}")
    for odd in ("bytes=0-1,4-5", "seconds=1-2", "bytes=-", "bytes=a-b", "bytes=5-3"):
        whole = await world.client.get(speech, headers={"Range": odd})
        assert (whole.status_code, whole.content) == (200, servers.sound)
    assert len(servers.utterances) == 1
    servers.sound = b"ID3" + bytes(5 * 2**20)  # too large for the cache
    part = await world.client.get(await address(world), headers={"Range": "bytes=1-2"})
    assert (part.status_code, part.content) == (206, b"D3")


async def test_refusal_is_spoken_with_its_advice(services: FakeServices, servers: SpeechServers) -> None:
    chosen = {"tts_model": "kokoro", "tts_voice": "af_heart", "tts_format": "opus", "session_ttl_s": 5_000}
    async with speaking(services, servers, stt_url=closed_port(), **chosen) as world:
        silent = await world.client.post("/answer", files={"audio": tone(0.5, peak=0)})
        answer = Answer.model_validate_json(silent.content)
        assert answer.reason is Reason.NOT_HEARD
        assert answer.speech is not None
        await world.client.get(answer.speech)
    [speech] = servers.utterances
    assert speech["input"] == f"{answer.answer} {answer.advice}"
    assert (speech["model"], speech["voice"], speech["response_format"]) == ("kokoro", "af_heart", "opus")
    _, until, _ = answer.speech.split(".")
    assert 4_900 < int(until, 16) - time.time() <= 5_000  # as long as a session


async def test_listening_needs_no_key(services: FakeServices, servers: SpeechServers, tmp_path: Path) -> None:
    key = ApiKey.new()
    async with speaking(services, servers, keys=keys_file(tmp_path, anna=key)) as world:
        answer = await world.client.post("/answer", json={"question": QUESTION}, headers=bearer(key))
        assert (await world.client.get(answer.json()["speech"])).status_code == 200


def forged(speech: str) -> dict[str, str]:
    path, _, last = speech.rpartition("/")
    name, until, signature = last.split(".")
    later = f"{int(until, 16) + 1:x}"
    swapped = signature[:-1] + ("A" if signature[-1] != "A" else "B")
    return {
        "signature": f"{path}/{name}.{until}.{swapped}",
        "expiry": f"{path}/{name}.{later}.{signature}",
        "name": f"{path}/{name[:-1]}~.{until}.{signature}",
        "no signature": f"{path}/{name}.{until}.",
        "parts": f"{path}/{name}",
        "not ASCII": f"{path}/{name}.{until}.é",
        "no number": f"{path}/{name}.zz.{signature}",
    }


async def test_forged_address_is_not_found(world: World, servers: SpeechServers) -> None:
    for forgery in forged(await address(world)).values():
        reply = await world.client.get(forgery)
        assert reply.status_code == 404
        assert reply.json()["detail"] == "There is no such sound, or it is no longer kept."
    assert servers.utterances == []


async def test_failure_before_the_sound_is_a_problem(world: World, servers: SpeechServers) -> None:
    speech = await address(world)
    servers.manner = Manner.FAILS
    failed = await world.client.get(speech)
    servers.manner, servers.sound = Manner.WELL, b""
    empty = await world.client.get(speech)
    for reply in (failed, empty):
        assert (reply.status_code, reply.headers["content-type"]) == (503, "application/problem+json")
        assert "inside" not in reply.text
    servers.sound, servers.media_type = b"RIFF", "audio/wav"
    assert (await world.client.get(speech)).headers["content-type"] == "audio/wav"


@pytest.mark.parametrize("manner", [Manner.BREAKS_OFF, Manner.ENDLESS])
async def test_broken_sound_has_no_regular_end(world: World, servers: SpeechServers, manner: Manner) -> None:
    speech = await address(world)
    servers.manner = manner
    with pytest.raises(httpx.RemoteProtocolError):
        await world.client.get(speech)
    assert len(servers.utterances) == 1  # and it is not begun again


async def test_readiness_reports_the_speech_server(world: World, servers: SpeechServers) -> None:
    for manner, note in ((Manner.REFUSES_KEY, "tts refuses the key"), (Manner.ENDLESS, "ok")):
        servers.manner = manner
        ready = await world.client.get("/health/ready")
        assert ready.status_code == 200
        assert ready.json()["checks"]["tts"].startswith(note)


SAID = ("question.webm", recorded(tone(1.0), "webm"), "audio/webm")


async def test_without_speech_servers_speech_is_not_configured(services: FakeServices) -> None:
    speech = {"model": "tts-1", "voice": "alloy", "input": "Hello."}
    async with gateway_before(services) as world:
        assert (await world.ask()).speech is None
        replies = [
            await world.client.get("/speech/whatever"),
            await world.client.post("/v1/audio/speech", json=speech),
            await world.client.post("/v1/audio/transcriptions", files={"file": SAID}, data={"model": "any"}),
        ]
    assert {reply.status_code for reply in replies} == {501}
    assert [reply.json()["error"]["code"] for reply in replies[1:]] == ["not_configured"] * 2


async def test_transcript_formats_are_json_text_and_verbose_json(client: AsyncOpenAI) -> None:
    assert (await client.audio.transcriptions.create(file=SAID, model="whisper-1")).text == QUESTION
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
    assert servers.utterances == [
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
