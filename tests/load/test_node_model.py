"""The scripted server imitates the API that it says it does: OpenAI's own client understands it."""

from typing import Any

import anyio
import httpx
import openai
import pytest
from pydantic import BaseModel

from bench.node import context_too_long, fails, overloaded, says, vlm_server

pytestmark = pytest.mark.anyio


class Sign(BaseModel):
    """A form."""

    reason: str
    words: str | None


SIGN = Sign(reason='Letters over a café door: "Zoë’s"', words="Zoë’s 茶")


def client(url: str, key: str = "none") -> openai.AsyncOpenAI:
    """OpenAI's client, which neither waits nor tries again."""
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0)


def ask(**more: Any) -> dict[str, Any]:
    """The arguments of a request."""
    schema = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "words": {"type": ["string", "null"]}},
        "required": ["reason", "words"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "sign", "schema": schema, "strict": True}}
    return {
        "model": "scripted-vlm",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What does it say?"}]}],
        "max_tokens": 99,
        "temperature": 0,
        "response_format": form,
    } | more


async def test_a_whole_reply_parses() -> None:
    async with vlm_server({"sign": says(SIGN)}) as server, client(server.url) as caller:
        reply = await caller.chat.completions.create(**ask(logprobs=True, top_logprobs=2))
    choice = reply.choices[0]
    assert Sign.model_validate_json(choice.message.content or "") == SIGN
    assert choice.finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert choice.logprobs is not None
    tokens = choice.logprobs.content or []
    spelled = b"".join(bytes(token.bytes or []) for token in tokens).decode()
    assert Sign.model_validate_json(spelled) == SIGN
    assert any("\ufffd" in token.token for token in tokens)  # some are parts of a character


async def test_a_stream_parses() -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}, "logprobs": True}
    async with vlm_server({"sign": says(SIGN)}) as server, client(server.url) as caller:
        chunks = [chunk async for chunk in await caller.chat.completions.create(**ask(**options))]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert Sign.model_validate_json(text) == SIGN
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert not chunks[-1].choices


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (overloaded(), openai.RateLimitError),
        (fails(503), openai.InternalServerError),
        (fails(500), openai.InternalServerError),
        (context_too_long(), openai.BadRequestError),
    ],
)
async def test_errors_are_the_api_s(reply: Any, error: type[openai.APIStatusError]) -> None:
    async with vlm_server({"sign": reply}) as server, client(server.url) as caller:
        with pytest.raises(error) as caught:
            await caller.chat.completions.create(**ask())
    assert caught.value.body == reply.body["error"]


async def test_a_caller_who_leaves_is_noticed() -> None:
    held = says(SIGN, hold=anyio.Event(), hold_at=3)
    async with vlm_server({"sign": held}) as server, client(server.url) as caller:
        stream = await caller.chat.completions.create(**ask(stream=True))
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        await stream.close()
        await server.requests[0].finished.wait()
        assert server.requests[0].abandoned


OUTSIDE = {"type": "image_url", "image_url": {"url": "http://127.0.0.1/photo.jpg"}}
NO_PHOTO = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": [{"role": "user", "content": [OUTSIDE]}]},
        {"messages": [{"role": "user", "content": [NO_PHOTO]}]},
        {"messages": [{"role": "wearer", "content": [{"type": "text", "text": "?"}]}]},
        {"messages": []},
        {"best_of": 2},
        {"temperature": 3},
        {"max_tokens": 0},
        {"top_logprobs": 2},
        {"stream_options": {"include_usage": True}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}},
        {"response_format": {"type": "json_object"}},
    ],
)
async def test_what_the_api_refuses_is_refused(wrong: dict[str, Any]) -> None:
    async with vlm_server({"sign": says(SIGN)}) as server, httpx.AsyncClient() as caller:
        response = await caller.post(f"{server.url}/v1/chat/completions", json=ask(**wrong))
        assert response.status_code == 400
        assert response.json()["error"]["message"]
        assert server.violations
        server.violations.clear()
