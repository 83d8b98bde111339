"""Request bodies as apps for glasses send them to any server of OpenAI's API, by their published sources.

OpenGlasses (`straff2002/OpenGlasses`, `LLMService.swift`), VisionClaw (`Intent-Lab/VisionClaw`,
`OpenClawBridge.swift`), and the server of Xiaozhi boards (`xinnan-tech/xiaozhi-esp32-server`,
`providers/vllm/openai.py`).
"""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from chassis.keys import ApiKey
from gateway.settings import GatewaySettings
from tests.unit.chassis.pictures import encoded, scene
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before

pytestmark = pytest.mark.anyio


def data_uri(photo: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(photo).decode()}"


def with_photo(text: str, photo: bytes = PHOTO, **more: str) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [
            {"type": "text", "text": text},
            {"type": "image_url", "image_url": {"url": data_uri(photo), **more}},
        ],
    }


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
OPENGLASSES_ASKS = {
    "model": "loreglass",
    "max_tokens": 1024,
    "messages": [SYSTEM, with_photo(QUESTION)],
    "tools": TOOLS,
    "stream": True,
    "stream_options": {"include_usage": True},
}
OPENGLASSES_GOES_ON = {
    "model": "loreglass",
    "max_tokens": 1024,
    "messages": [
        SYSTEM,
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What was that?"},
                {"type": "text", "text": "[earlier photo omitted to save context]"},
            ],
        },
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
VISIONCLAW_TASK = {
    "model": "openclaw",
    "messages": [
        {"role": "user", "content": "Who wrote the book on my desk?"},
        {"role": "assistant", "content": "I don't know."},
        {"role": "user", "content": "Search for who wrote The Lighthouse"},
    ],
    "stream": False,
}
XIAOZHI_SERVER = {
    "model": "loreglass",
    "messages": [with_photo(f"{QUESTION}(Please reply in English)")],
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
    "store": False,
    "service_tier": "auto",
}
BODIES = {
    "openglasses asks": OPENGLASSES_ASKS,
    "openglasses goes on": OPENGLASSES_GOES_ON,
    "visionclaw": VISIONCLAW_TASK,
    "xiaozhi server": XIAOZHI_SERVER,
    "some app": SOME_APP,
}


async def complete(world: World, body: dict[str, Any], **headers: str) -> str:
    """The words of the reply, as the app reads them from either form."""
    reply = await world.client.post("/v1/chat/completions", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    if not body.get("stream"):
        return str(reply.json()["choices"][0]["message"]["content"])
    events = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
    assert events.pop() == "[DONE]"
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_what_an_app_for_glasses_sends_is_answered(
    services: FakeServices, body: dict[str, Any]
) -> None:
    async with gateway_before(services, model_aliases=("gpt-4o", "openclaw")) as world:
        assert await complete(world, body)


async def test_the_question_is_about_the_newest_photo_and_not_about_an_older_one(world: World) -> None:
    await complete(world, OPENGLASSES_GOES_ON)
    ask = world.reasoner.asked[-1]
    assert ask.photo is not None
    assert (ask.question, ask.photo.width, ask.photo_is_new) == (QUESTION, 320, True)
    assert [turn.answer for turn in ask.history] == ["A poster."]


async def test_a_follow_up_without_a_photo_is_about_the_one_before(world: World) -> None:
    first = OPENGLASSES_ASKS["messages"]
    assert isinstance(first, list)
    later = [
        *first,
        {"role": "assistant", "content": "Ada."},
        {"role": "user", "content": "When was she born?"},
    ]
    await complete(world, {**OPENGLASSES_ASKS, "messages": later})
    ask = world.reasoner.asked[-1]
    assert ask.photo is not None
    assert (ask.photo.width, ask.photo_is_new) == (320, False)


async def test_an_app_whose_models_name_is_fixed_is_served_where_the_operator_says_so(
    services: FakeServices,
) -> None:
    async with gateway_before(services) as world:
        unknown = await world.client.post("/v1/chat/completions", json=SOME_APP)
        async with gateway_before(services, model_aliases=("gpt-4o", "openclaw")) as named:
            listed = [each["id"] for each in (await named.client.get("/v1/models")).json()["data"]]
            shown = await named.client.get("/v1/models/gpt-4o")
            said = await complete(named, SOME_APP)
    assert unknown.status_code == 404
    assert "loreglass" in unknown.json()["error"]["message"]
    assert (listed[0], listed[-2:]) == ("loreglass", ["gpt-4o", "openclaw"])
    assert (shown.status_code, shown.json()["id"]) == (200, "gpt-4o")
    assert said


def test_aliases_stand_in_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_MODEL_ALIASES", "gpt-4o, openclaw,")
    assert GatewaySettings().model_aliases == ("gpt-4o", "openclaw")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/chat/completions"),
        ("POST", "/v1/chat/completions/"),
        ("POST", "/v1//chat/completions"),
        ("POST", "/v1/v1/chat/completions"),
        ("POST", "/api/v1/chat/completions"),
        ("POST", "/v1/chat/completions/chat/completions"),
        ("GET", "/chat/completions"),
        ("POST", "/v1/responses"),
        ("POST", "/v1/messages"),
        ("POST", "/v1/completions"),
        ("GET", "/v1"),
        ("GET", "/v1/"),
        ("GET", "/models"),
        ("GET", "/v1/models/"),
        ("GET", "/v1/v1/models"),
    ],
)
async def test_a_wrong_address_is_told_the_right_one_where_the_app_looks(
    world: World, method: str, path: str
) -> None:
    reply = await world.client.request(method, path, json=SOME_APP if method == "POST" else None)
    assert reply.status_code == 404
    right = "/v1/models" if path.rstrip("/").endswith(("models", "v1")) else "/v1/chat/completions"
    error = reply.json()["error"]
    assert right in error["message"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "not_found")
    assert (await world.client.request(method, right, json=XIAOZHI_SERVER)).status_code == 200


@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/models"), ("PUT", "/v1/chat/completions")])
async def test_a_right_address_asked_in_another_way_is_still_there(
    world: World, method: str, path: str
) -> None:
    assert (await world.client.request(method, path)).status_code == 405


async def test_an_app_sees_whether_address_and_key_are_right(services: FakeServices, tmp_path: Path) -> None:
    """VisionClaw asks so, and takes nothing but a 2xx for a server that is there."""
    key = ApiKey.new()
    keys = tmp_path / "keys.toml"
    keys.write_text(
        f'[[key]]\nprefix = "{key.prefix}"\nsha256 = "{key.sha256}"\ntenant = "a"\npriority = "interactive"\n'
    )
    async with gateway_before(services, keys=keys) as world:
        known = {"Authorization": f"Bearer {key.text}"}
        reply = await world.client.get("/v1/chat/completions", headers=known)
        stranger = await world.client.get("/v1/chat/completions")
    assert reply.json() == {
        "object": "list",
        "data": [],
        "first_id": None,
        "last_id": None,
        "has_more": False,
    }
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "unauthorized")
