"""`input_audio` in a conversation in OpenAI's shape."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionContentPartParam, ChatCompletionMessageParam

from tests.speech_servers import Manner, SpeechServers
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import QUESTION, World, gateway_before
from tests.unit.gateway.speech.sounds import recorded, tone
from tests.unit.gateway.test_chat_completions import URI, user

pytestmark = pytest.mark.anyio


@pytest.fixture
async def servers(anyio_backend: object) -> SpeechServers:
    return SpeechServers(words=QUESTION)


@pytest.fixture
async def world(services: FakeServices, servers: SpeechServers) -> AsyncIterator[World]:
    async with servers.up() as url, gateway_before(services, stt_url=url) as made:
        yield made


@pytest.fixture
async def client(world: World) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{world.url}/v1", api_key="none", max_retries=0) as made:
        yield made


def spoken(text: str = "", sound: bytes | None = None, times: int = 1) -> ChatCompletionMessageParam:
    data = base64.b64encode(recorded(tone(0.5), "mp3") if sound is None else sound).decode()
    parts: list[ChatCompletionContentPartParam] = [{"type": "image_url", "image_url": {"url": URI}}]
    if text:
        parts.append({"type": "text", "text": text})
    audio: ChatCompletionContentPartParam = {
        "type": "input_audio",
        "input_audio": {"data": data, "format": "mp3"},
    }
    return {"role": "user", "content": [*parts, *[audio] * times]}


async def ask(client: AsyncOpenAI, *messages: ChatCompletionMessageParam) -> dict[str, Any]:
    reply = await client.chat.completions.create(model="loreglass", messages=messages)
    assert reply.model_extra is not None
    body: dict[str, Any] = reply.model_extra["loreglass"]
    return body


async def test_sound_of_the_last_message_is_the_question(client: AsyncOpenAI, world: World) -> None:
    body = await ask(client, spoken())
    assert (body["transcript"], body["reason"], body["degraded"]) == (QUESTION, "answered", [])
    assert world.reasoner.queries[-1].question == QUESTION
    await ask(client, spoken("About the cover:"))
    assert world.reasoner.queries[-1].question == f"About the cover:\n{QUESTION}"


async def test_text_is_answered_without_its_sound(
    client: AsyncOpenAI, world: World, servers: SpeechServers
) -> None:
    earlier: ChatCompletionMessageParam = {"role": "assistant", "content": "Ada."}
    body = await ask(client, spoken("Who?"), earlier, user("And when?", None))
    assert "history" in body["degraded"]
    assert servers.heard == []
    servers.manner = Manner.FAILS
    body = await ask(client, spoken("Who wrote it?"))
    assert body["degraded"] == ["transcription"]
    assert world.reasoner.queries[-1].question == "Who wrote it?"


async def test_stream_reports_the_transcript(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="loreglass", messages=[spoken()], stream=True)
    thoughts = [(chunk.choices[0].delta.model_extra or {}).get("reasoning_content") async for chunk in stream]
    assert f"heard: {QUESTION}\n" in thoughts


async def test_two_recordings_or_bad_base64_are_refused(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="one recording"):
        await ask(client, spoken(times=2))
    message: Any = spoken()
    message["content"][-1]["input_audio"]["data"] = "§"
    with pytest.raises(openai.BadRequestError, match="base64"):
        await ask(client, message)
