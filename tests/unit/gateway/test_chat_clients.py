"""Request bodies as chat clients and apps for glasses send them, by their published sources.

Open WebUI, OpenGlasses (`straff2002/OpenGlasses`, `LLMService.swift`) and VisionClaw
(`Intent-Lab/VisionClaw`, `OpenClawBridge.swift`).
"""

import base64
import json
import re
from typing import Any

import pytest

from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before


def data_uri(photo: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(photo).decode()}"


def photo_part(url: str, **more: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def parts(*pieces: str | dict[str, Any]) -> dict[str, Any]:
    """Return a user's message of these parts."""
    return {
        "role": "user",
        "content": [{"type": "text", "text": each} if isinstance(each, str) else each for each in pieces],
    }


def with_photo(text: str, photo: bytes = PHOTO, **more: str) -> dict[str, Any]:
    return parts(text, photo_part(data_uri(photo), **more))


OLDER_PHOTO = encoded(scene(400, 300), "JPEG")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Use this to {name.replace('_', ' ')}.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": []},
        },
    }
    for name in ("capture_photo", "set_timer", "get_weather", "web_search", "remember")
]
SYSTEM = {
    "role": "system",
    "content": "You are a voice assistant in glasses. Answer in one or two sentences, without lists.\n"
    + "Tools: "
    + "You may call one when it helps. " * 1_000,
}
OPENGLASSES_GOES_ON = {
    "model": "loreglass",
    "max_tokens": 1024,
    "messages": [
        SYSTEM,
        parts("What was that?", "[earlier photo omitted to save context]"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_0", "type": "function", "function": {"name": "capture_photo", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "call_0", "content": "Photo captured."},
        with_photo("[Attached: the photo returned by capture_photo.]", OLDER_PHOTO),
        {"role": "assistant", "content": "A poster."},
        {"role": "user", "content": "Thanks"},
        {"role": "assistant", "content": ""},
        with_photo(QUESTION, detail="low"),
    ],
    "tools": TOOLS,
    "tool_choice": "auto",
}
OPENGLASSES_ASKS = {
    **OPENGLASSES_GOES_ON,
    "messages": [SYSTEM, with_photo(QUESTION)],
    "stream": True,
    "stream_options": {"include_usage": True},
}
VISIONCLAW_TASK = {
    "model": "openclaw",
    "messages": [
        {"role": "user", "content": "Who wrote the book on my desk?"},
        {"role": "assistant", "content": "I don't know."},
        {"role": "user", "content": "Search for who wrote The Lighthouse"},
    ],
    "stream": False,
}
SOME_APP = {
    "model": "gpt-4o",
    "messages": [{"role": "system", "content": "Be brief."}, with_photo(QUESTION, detail="high")],
    "max_tokens": 300,
    "temperature": 0.7,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "user": "phone",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "response_format": {"type": "text"},
    "logprobs": False,
    "stop": None,
    "stream_options": None,
    "modalities": ["text"],
    "store": False,
    "service_tier": "auto",
}
OPEN_WEBUI_TAGS = {
    "model": "loreglass",
    "messages": [{"role": "user", "content": "### Task:\nFind tags for the chat." + "\nUSER: go on" * 400}],
    "stream": False,
    "max_completion_tokens": 1000,
    "metadata": {"task": "tags_generation", "chat_id": "1"},
}
BODIES = (OPENGLASSES_ASKS, OPENGLASSES_GOES_ON, VISIONCLAW_TASK, OPEN_WEBUI_TAGS, SOME_APP)


async def complete(world: World, body: dict[str, Any], **headers: str) -> str:
    """Return the text of the reply, streamed or not."""
    reply = await world.client.post("/v1/chat/completions", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    if not body.get("stream"):
        return str(reply.json()["choices"][0]["message"]["content"])
    events = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def test_question_is_about_the_newest_photo(world: World) -> None:
    await complete(world, OPENGLASSES_GOES_ON)
    ask = world.reasoner.queries[-1]
    assert ask.photo is not None
    assert (ask.question, ask.photo.width, ask.photo_is_new) == (QUESTION, 320, True)
    assert [turn.answer for turn in ask.history] == ["A poster."]


async def test_bodies_of_known_clients_are_answered_under_their_fixed_model_names(
    services: FakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_MODEL_ALIASES", "gpt-4o, openclaw,")
    async with gateway_before(services) as world:
        listed = [each["id"] for each in (await world.client.get("/v1/models")).json()["data"]]
        shown = await world.client.get("/v1/models/gpt-4o")
        for body in BODIES:
            assert await complete(world, body), body
    assert (listed[0], listed[-2:]) == ("loreglass", ["gpt-4o", "openclaw"])
    assert (shown.status_code, shown.json()["id"]) == (200, "gpt-4o")


WRAPPED = "\n".join(re.findall(".{1,76}", data_uri(PHOTO).rstrip("=")))
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}
LENIENT: dict[str, tuple[dict[str, Any], str, list[str]]] = {
    "base64 with line ends, without padding": (parts(photo_part(WRAPPED), QUESTION), QUESTION, []),
    "an address without an object": (
        parts({"type": "image_url", "image_url": WRAPPED}, QUESTION),
        QUESTION,
        [],
    ),
    "a photo without words": (parts(photo_part(data_uri(PHOTO))), "What is this?", []),
    "a part of another kind": (parts(photo_part(data_uri(PHOTO)), FILE, QUESTION), QUESTION, ["parts"]),
    "two photos": (
        parts(photo_part(data_uri(OLDER_PHOTO)), photo_part(data_uri(PHOTO)), QUESTION),
        QUESTION,
        ["photos_but_last"],
    ),
}


@pytest.mark.parametrize(("message", "question", "degraded"), LENIENT.values(), ids=LENIENT)
async def test_messages_are_read_like_other_servers(
    world: World, message: dict[str, Any], question: str, degraded: list[str]
) -> None:
    body = {"model": "loreglass:latest", "messages": [message], "max_tokens": -1}
    reply = (await world.client.post("/v1/chat/completions", json=body)).json()
    ask = world.reasoner.queries[-1]
    assert ask.photo is not None
    assert (ask.question, ask.photo.width, reply["choices"][0]["finish_reason"]) == (question, 320, "stop")
    assert reply["loreglass"]["degraded"] == degraded


async def test_text_after_the_last_user_message_is_not_the_question(world: World) -> None:
    begun = {"role": "assistant", "content": "The book was"}
    await complete(world, {"model": "loreglass", "messages": [with_photo(QUESTION), begun]})
    assert world.reasoner.queries[-1].question == QUESTION


@pytest.mark.parametrize("role", ["system", "assistant"])
async def test_pictures_of_other_roles_are_not_the_users(world: World, role: str) -> None:
    picture = {**with_photo("Like this one.", OLDER_PHOTO), "role": role}
    asking = {"role": "user", "content": QUESTION}
    await complete(world, {"model": "loreglass", "messages": [with_photo("This?"), picture, asking]})
    photo = world.reasoner.queries[-1].photo
    assert photo is not None
    assert photo.width == 320


async def test_earlier_photo_url_is_degraded_without_an_older_substitute(world: World) -> None:
    old = parts(photo_part("https://example.org/a.jpg"), "And this?")
    between, asking = {"role": "assistant", "content": "A book."}, {"role": "user", "content": QUESTION}
    body = {"model": "loreglass", "messages": [with_photo("This?"), between, old, between, asking]}
    reply = (await world.client.post("/v1/chat/completions", json=body)).json()
    assert world.reasoner.queries[-1].photo is None
    assert "photo" in reply["loreglass"]["degraded"]


async def test_an_error_says_which_message_and_part(world: World) -> None:
    wrong = {"type": "image_url", "image_url": {"link": "a"}}
    body = {"model": "loreglass", "messages": [with_photo("This?"), parts("And?", wrong)]}
    reply = await world.client.post("/v1/chat/completions", json=body)
    assert reply.status_code == 422
    assert "messages.1.content.1.image_url" in reply.json()["error"]["message"]


WRONG = {
    "/v1/chat/completions": (
        *("POST /chat/completions", "POST /v1/chat/completions/", "POST /v1//chat/completions"),
        *("POST /v1/v1/chat/completions", "POST /v1/chat/completions/chat/completions"),
        *("GET /chat/completions", "POST /v1/responses", "POST /v1/messages", "POST /v1/completions"),
    ),
    "/v1/models": ("GET /v1", "GET /v1/", "GET /models", "GET /v1/models/", "GET /v1/v1/models"),
}


async def test_wrong_base_url_error_names_the_right_one(world: World) -> None:
    for right, requests in WRONG.items():
        for method, path in map(str.split, requests):
            reply = await world.client.request(method, path, json=SOME_APP if method == "POST" else None)
            error = reply.json()["error"]
            assert (reply.status_code, right in error["message"]) == (404, True), path
            assert (error["type"], error["code"]) == ("invalid_request_error", "not_found")
    for method, path in (("POST", "/v1/models"), ("PUT", "/v1/chat/completions")):
        assert (await world.client.request(method, path)).status_code == 405
