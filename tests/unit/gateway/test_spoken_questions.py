"""A question that is spoken: `audio` in place of `question`, and `input_audio` in a chat."""

import base64
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionContentPartParam, ChatCompletionMessageParam

from contracts.answer import Answer, Reason
from tests.live import closed_port
from tests.speech_servers import Manner, SpeechServers
from tests.unit.gateway import test_spoken_answers
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before
from tests.unit.gateway.speech.sounds import recorded, tone
from tests.unit.gateway.test_chat_completions import URI, user
from tests.unit.gateway.test_spoken_answers import speaking
from tests.unit.gateway.test_streaming import STREAM, events_of

world = test_spoken_answers.world  # import the fixture `world`
SAID = tone(0.4)


async def tell(
    world: World, sound: bytes = SAID, photo: bytes | None = PHOTO, headers: Any = None, **fields: str
) -> httpx.Response:
    files = {"audio": ("question.wav", sound, "audio/wav")}
    if photo is not None:
        files["image"] = ("photo.jpg", photo, "image/jpeg")
    return await world.client.post("/answer", files=files, data=fields, headers=headers)


async def ask(world: World, sound: bytes = SAID, **fields: Any) -> Answer:
    reply = await tell(world, sound, **fields)
    assert reply.status_code == 200, reply.text
    return Answer.model_validate_json(reply.content)


async def test_spoken_question_is_answered_like_a_written_one(world: World) -> None:
    answer = await ask(world)
    assert answer.transcript == QUESTION
    written = await world.ask()
    assert (written.answer, written.transcript) == (answer.answer, None)
    assert "transcription" not in written.timings_ms
    assert world.reasoner.queries[0].question == QUESTION
    assert "transcription" in answer.timings_ms
    assert answer.degraded == []
    body = {"audio": {"base64": base64.b64encode(SAID).decode()}}
    assert (await world.client.post("/answer", json=body)).json()["transcript"] == QUESTION


async def test_server_gets_plain_wav_model_and_key(services: FakeServices, servers: SpeechServers) -> None:
    own = {"stt_model": "whisper-1", "stt_key": "secret"}
    async with servers.up() as url, gateway_before(services, stt_url=f"{url}/v1/", **own) as world:
        await ask(world, recorded(SAID, "webm"))
    [request] = servers.heard
    assert request.wav[:4] == b"RIFF"
    assert request.fields == {"model": "whisper-1", "response_format": "json"}
    assert request.authorization == "Bearer secret"


async def test_stream_has_the_transcript_before_the_answer(world: World) -> None:
    events = events_of((await tell(world, headers=STREAM)).text)
    names = [name for name, _ in events]
    assert names.count("transcript") == 1
    assert names.index("transcript") < names.index("token")
    assert dict(events)["transcript"] == {"text": QUESTION}
    assert events[0][1]["stage"] == "admission"
    assert "transcription" in [data["stage"] for name, data in events if name == "stage"]


async def test_question_text_and_sound_are_exclusive(world: World) -> None:
    both = await tell(world, question="who?")
    assert (both.status_code, "one of the two" in both.json()["detail"]) == (422, True)


async def test_unreadable_sound_is_refused_at_once(services: FakeServices, servers: SpeechServers) -> None:
    async with speaking(services, servers, audio_max_s=2.0) as world:
        for sound, status, kind in (
            (b"#EXTM3U\n", 415, "unsupported_audio"),
            (recorded(SAID, "webm")[:200], 422, "corrupt_audio"),
            (tone(3.0), 413, "payload_too_large"),
        ):
            reply = await tell(world, sound, headers=STREAM)
            assert (reply.status_code, reply.json()["type"]) == (status, f"urn:loreglass:problem:{kind}")


async def test_silence_is_not_a_question(world: World, servers: SpeechServers) -> None:
    servers.words = "[BLANK_AUDIO]"
    assert (await ask(world)).reason is Reason.NOT_HEARD
    servers.heard.clear()
    answer = await ask(world, tone(1.0, peak=0))
    assert (answer.reason, answer.transcript, answer.abstained) == (Reason.NOT_HEARD, "", True)
    assert "did not hear a question" in answer.answer
    assert servers.heard == []
    assert world.reasoner.queries == []


async def test_photo_sent_with_silence_stays_in_the_conversation(world: World) -> None:
    session_id = (await ask(world, tone(1.0, peak=0))).session_id
    await ask(world, tone(1.0, peak=0), photo=None, session_id=session_id)
    for before in range(3):
        await ask(world, photo=None, session_id=session_id)
        query = world.reasoner.queries[-1]
        assert query.photo is not None
        assert [turn.question for turn in query.history] == [QUESTION] * before


async def test_failed_transcription_is_a_refusal(world: World, servers: SpeechServers) -> None:
    for servers.manner in (Manner.FAILS, Manner.OTHER_SHAPE, Manner.ENDLESS):
        answer = await ask(world)
        assert (answer.reason, answer.transcript) == (Reason.UNAVAILABLE, None)
        assert answer.degraded == ["transcription"]
        assert "type it" in answer.answer
        assert "inside" not in answer.model_dump_json()


async def test_missing_or_busy_server_is_a_refusal(services: FakeServices, servers: SpeechServers) -> None:
    async with gateway_before(services, stt_url=closed_port()) as world:
        assert (await ask(world)).reason is Reason.UNAVAILABLE
        health = await world.client.get("/health/ready")
    assert (health.status_code, "does not answer" in health.json()["checks"]["stt"]) == (200, True)
    servers.manner = Manner.BUSY
    async with speaking(services, servers) as world:
        assert (await ask(world)).reason is Reason.OVERLOADED


async def test_failures_open_the_breaker_and_refusals_do_not(world: World, servers: SpeechServers) -> None:
    servers.manner = Manner.REFUSES_REQUEST
    for _ in range(12):
        assert (await ask(world)).reason is Reason.UNAVAILABLE
    servers.manner = Manner.WELL
    assert (await ask(world)).transcript == QUESTION
    servers.manner = Manner.FAILS
    for _ in range(12):
        await ask(world)
    before = len(servers.heard)
    await ask(world)
    assert len(servers.heard) == before
    metrics = (await world.client.get("/metrics")).text
    assert 'loreglass_breaker_open{dependency="stt"} 1.0' in metrics
    assert 'loreglass_degraded_total{kind="transcription"} 25.0' in metrics


def recording(text: str = "", sound: bytes | None = None, times: int = 1) -> ChatCompletionMessageParam:
    data = base64.b64encode(recorded(tone(0.5), "mp3") if sound is None else sound).decode()
    parts: list[ChatCompletionContentPartParam] = [{"type": "image_url", "image_url": {"url": URI}}]
    if text:
        parts.append({"type": "text", "text": text})
    audio: ChatCompletionContentPartParam = {
        "type": "input_audio",
        "input_audio": {"data": data, "format": "mp3"},
    }
    return {"role": "user", "content": [*parts, *[audio] * times]}


async def ask_chat(client: AsyncOpenAI, *messages: ChatCompletionMessageParam) -> dict[str, Any]:
    reply = await client.chat.completions.create(model="loreglass", messages=messages)
    assert reply.model_extra is not None
    body: dict[str, Any] = reply.model_extra["loreglass"]
    return body


async def test_sound_of_the_last_message_is_the_question(client: AsyncOpenAI, world: World) -> None:
    body = await ask_chat(client, recording())
    assert (body["transcript"], body["reason"], body["degraded"]) == (QUESTION, "answered", [])
    assert world.reasoner.queries[-1].question == QUESTION
    await ask_chat(client, recording("About the cover:"))
    assert world.reasoner.queries[-1].question == f"About the cover:\n{QUESTION}"


async def test_text_needs_no_sound(client: AsyncOpenAI, world: World, servers: SpeechServers) -> None:
    earlier: ChatCompletionMessageParam = {"role": "assistant", "content": "Ada."}
    body = await ask_chat(client, recording("Who?"), earlier, user("And when?", None))
    assert "history" in body["degraded"]
    assert servers.heard == []
    servers.manner = Manner.FAILS
    body = await ask_chat(client, recording("Who wrote it?"))
    assert body["degraded"] == ["transcription"]
    assert world.reasoner.queries[-1].question == "Who wrote it?"


async def test_stream_reports_the_transcript(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="loreglass", messages=[recording()], stream=True)
    thoughts = [(chunk.choices[0].delta.model_extra or {}).get("reasoning_content") async for chunk in stream]
    assert f"heard: {QUESTION}\n" in thoughts


async def test_two_recordings_or_bad_base64_are_refused(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="one recording"):
        await ask_chat(client, recording(times=2))
    message: Any = recording()
    message["content"][-1]["input_audio"]["data"] = "§"
    with pytest.raises(openai.BadRequestError, match="base64"):
        await ask_chat(client, message)
