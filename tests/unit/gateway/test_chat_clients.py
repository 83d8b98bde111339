"""Request bodies as chat clients send them: Open WebUI and LibreChat, by their published shapes."""

import json
from typing import Any

import pytest

from tests.unit.gateway.platform import World

pytestmark = pytest.mark.anyio

_HISTORY = "<chat_history>\nUSER: who wrote this\nASSISTANT: Ada wrote it.\n</chat_history>"

OPEN_WEBUI_CHAT = {
    "stream": True,
    "model": "loreglass",
    "messages": [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "I don't know."},
        {"role": "user", "content": [{"type": "text", "text": "What is the weather like?"}]},
    ],
    "temperature": 0.8,
    "stream_options": {"include_usage": True},
}
OPEN_WEBUI_TITLE = {
    "model": "loreglass",
    "messages": [
        {
            "role": "user",
            "content": "### Task:\nFind a title of three words for the chat.\n"
            f'### Output:\nJSON format: {{"title": "the title"}}\n{_HISTORY}',
        }
    ],
    "stream": False,
    "max_completion_tokens": 1000,
}
OPEN_WEBUI_TAGS = {
    "model": "loreglass",
    "messages": [
        {
            "role": "user",
            "content": "### Task:\nFind one to three tags for the chat.\n"
            f'### Output:\nJSON format: {{"tags": ["tag"]}}\n{_HISTORY}' + "\nUSER: go on" * 400,
        }
    ],
    "stream": False,
    "metadata": {"task": "tags_generation", "chat_id": "1"},
}
OPEN_WEBUI_FOLLOW_UPS = {
    "model": "loreglass",
    "messages": [
        {
            "role": "user",
            "content": "### Task:\nSuggest three questions that the user could ask next.\n"
            f'### Output:\nJSON format: {{"follow_ups": ["question"]}}\n{_HISTORY}',
        }
    ],
    "stream": False,
}
LIBRECHAT_CHAT = {
    "model": "loreglass",
    "messages": [{"role": "user", "content": "Hi there"}],
    "user": "6650f0c2e4b0a1b2c3d4e5f6",
    "stream": True,
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
}
LIBRECHAT_TITLE = {
    "model": "loreglass",
    "messages": [
        {"role": "system", "content": "Name the conversation below in five words at most, without quotes."},
        {"role": "user", "content": "User: Hi there\nAI: I don't know."},
    ],
    "temperature": 0.2,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "max_tokens": 16,
}
BODIES = {
    name.lower(): body
    for name, body in globals().items()
    if name.startswith(("OPEN_WEBUI", "LIBRECHAT")) and isinstance(body, dict)
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_what_a_chat_client_sends_is_answered(world: World, body: dict[str, Any]) -> None:
    reply = await world.client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    if not body.get("stream"):
        assert reply.json()["choices"][0]["message"]["content"]
        return
    *events, done = [line for line in reply.text.splitlines() if line.startswith("data: ")]
    assert done == "data: [DONE]"
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert "".join(choice["delta"].get("content", "") for each in chunks for choice in each["choices"])
    if body.get("stream_options"):
        assert chunks[-1]["usage"]["total_tokens"] > 0
