"""`POST /v1/chat/completions` and what stands beside it."""

import base64
import random
from typing import Any

from tests.attacks.inputs import AttackClass, Input, Scene, request
from tests.attacks.mutations import changed, dumped, odd
from tests.attacks.words import NUMBERS, VALUES, damaged, text

_PATH = "/v1/chat/completions"


def _body(scene: Scene, photo: bool = False) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": "what is this?"}]
    if photo:
        url = "data:image/jpeg;base64," + base64.b64encode(scene.photo).decode()
        content.insert(0, {"type": "image_url", "image_url": {"url": url}})
    messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": content}]
    return {"model": "loreglass", "messages": messages, "deadline_ms": 2_000}


def _mutated(draw: random.Random, scene: Scene) -> Input:
    return Input("mutated", scene.post_json(_PATH, changed(draw, _body(scene, photo=draw.random() < 0.2))))


def _oddly_spelt(draw: random.Random, scene: Scene) -> Input:
    return Input("odd JSON", scene.post_json(_PATH, odd(draw, _body(scene))))


def _an_option(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(
        (
            "n",
            "max_tokens",
            "stop",
            "temperature",
            "logit_bias",
            "tools",
            "tool_choice",
            "response_format",
            "stream",
            "stream_options",
            "chat_template",
            "chat_template_kwargs",
            "guided_regex",
            "extra_body",
            "logprobs",
            "seed",
            "user",
            "modalities",
            "audio",
            "function_call",
            "model",
            "deadline_ms",
            "experiment",
        )
    )
    value = draw.choice((*VALUES, text(draw), draw.choice(NUMBERS), 10**9, [text(draw)] * 20))
    return Input(f"option {name}", scene.post_json(_PATH, dumped(_body(scene) | {name: value})))


def _a_conversation(draw: random.Random, scene: Scene) -> Input:
    roles = ("system", "developer", "user", "assistant", "tool", "function", "wizard")
    count = draw.choice((1, 3, 64, 65, 500, 4_097))
    messages = [
        {"role": draw.choice(roles), "content": draw.choice(("", text(draw)[:200], None))}
        for _ in range(count)
    ]
    return Input(f"{count} messages", scene.post_json(_PATH, dumped(_body(scene) | {"messages": messages})))


def _a_photo(draw: random.Random, scene: Scene) -> Input:
    whole = base64.b64encode(scene.photo).decode()
    url = draw.choice(
        (
            "data:image/jpeg;base64," + whole[:-3],
            "data:text/html;base64," + whole,
            "data:,hello",
            "data:image/jpeg," + whole,
            "http://169.254.169.254/",
            "file:///etc/passwd",
            "data:image/jpeg;base64,",
            "DATA:IMAGE/JPEG;BASE64," + whole,
            "data:image/jpeg;base64," + base64.b64encode(damaged(draw, scene.photo)).decode(),
            "data:" + "a" * 100_000,
        )
    )
    part = {"type": "image_url", "image_url": {"url": url, "detail": draw.choice(("low", "x", 1))}}
    content = [part] * draw.choice((1, 1, 5)) + [{"type": "text", "text": "what is this?"}]
    return Input(
        "photo",
        scene.post_json(_PATH, dumped(_body(scene) | {"messages": [{"role": "user", "content": content}]})),
    )


def _a_stream(draw: random.Random, scene: Scene) -> Input:
    body = _body(scene) | {
        "stream": True,
        "stream_options": draw.choice(({"include_usage": True}, None, {"x": 1})),
    }
    body["messages"] = [{"role": "user", "content": text(draw)}]
    return Input("stream", scene.post_json(_PATH, dumped(body)))


def _a_sound(draw: random.Random, scene: Scene) -> Input:
    data = base64.b64encode(draw.randbytes(draw.choice((0, 10, 3_000)))).decode()
    part = {
        "type": "input_audio",
        "input_audio": {"data": draw.choice((data, data[:-1], "é")), "format": text(draw)[:30]},
    }
    return Input(
        "sound",
        scene.post_json(_PATH, dumped(_body(scene) | {"messages": [{"role": "user", "content": [part]}]})),
    )


def _a_model(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(
        ("loreglass", "..%2f..%2fetc", "%00", "%ff", "a" * 7_000, "%0d%0aX:1", "{name}", "", "%F0%9F%8F%B4")
    )
    method = draw.choice(("GET", "HEAD", "POST", "DELETE"))
    return Input("model's name", request(method, f"/v1/models/{name}", [scene.authorization]))


CLASS = AttackClass(
    "chat",
    "chat completions",
    {
        _mutated: 8,
        _oddly_spelt: 4,
        _an_option: 4,
        _a_conversation: 2,
        _a_photo: 2,
        _a_stream: 2,
        _a_sound: 1,
        _a_model: 1,
    },
)
