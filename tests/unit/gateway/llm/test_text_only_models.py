"""Models that see no photos: how this is found out, what is then sent, and what a photo's failure costs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from bench.node import PROBED, Fails, Reply, ScriptedRequest, says, vllm_error
from chassis.errors import DependencyUnavailable
from chassis.http.client import Endpoint
from chassis.resilience.breaker import Breaker, BreakerState
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Guard
from gateway.llm.call import request_body, to_model_call
from gateway.llm.capabilities import TEXT_ONLY, Abilities
from gateway.llm.client import VlmClient
from gateway.llm.probe import probe
from gateway.llm.prompt import Earlier, Prompt, TextPart
from tests.live import closed_port
from tests.scripted_http import Scripted, ScriptedHttp
from tests.unit.gateway.llm.stage import READ, SEEN, bench, deadline

COMPLAINTS = [
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    (400, "smol is not a multimodal model None"),
    (400, "At most 0 image(s) may be provided in one prompt."),
    (400, "Failed to process inputs: this model is missing data required for image input"),
    (404, "No endpoints found that support image input"),
    (415, "This model does not support image inputs"),
    (422, "Failed to deserialize: messages[1]: unknown variant `image_url`, expected `text` at line 1"),
    (400, "'messages.1.content' must be a string"),
    (501, "Vision is not enabled for this model"),
]


def blind(status: int, complaint: str) -> Callable[[ScriptedRequest], Reply]:
    """A server that answers text, and photos with an error."""

    def reply(request: ScriptedRequest) -> Reply:
        if request.images:
            return Fails(status, vllm_error(status, complaint))
        return says(PROBED if request.body.get("response_format") else "Since 1840.")

    return reply


def guard_of(breaker: Breaker) -> Guard:
    return Guard("vlm", breaker=breaker, gate=Gate("vlm", 4, 4))


@pytest.mark.parametrize(("status", "complaint"), COMPLAINTS)
async def test_an_error_about_images_is_retried_without_them(status: int, complaint: str) -> None:
    breaker = Breaker(2)
    async with bench(blind(status, complaint), guard=guard_of(breaker)) as it:
        assert it.client.sees_photos
        assert (await it.client.complete(SEEN, deadline())).text == "Since 1840."
        await it.client.complete(SEEN, deadline())
    assert [len(request.images) for request in it.server.requests] == [1, 0, 0]
    assert it.server.requests[-1].body["messages"][1]["content"] == "Photo.\nWhat?"
    assert not it.client.sees_photos
    assert breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize(("status", "complaint"), [COMPLAINTS[0], (500, "Internal"), (400, "no")])
async def test_a_probe_finds_a_text_only_model(status: int, complaint: str) -> None:
    async with bench(blind(status, complaint)) as it:
        abilities = await probe(it.client, deadline())
    assert not abilities.sees_photos
    assert abilities.schema
    assert it.client.described["photos"] == TEXT_ONLY == "reads text; does not see photos"
    assert [len(request.images) for request in it.server.requests][-1] == 0


@pytest.mark.parametrize("status", [500, 502])
async def test_failing_photos_do_not_open_the_breaker(status: int) -> None:
    breaker = Breaker(2)
    async with bench(blind(status, "CUDA error"), guard=guard_of(breaker)) as it:
        for _ in range(5):
            with pytest.raises(DependencyUnavailable):
                await it.client.complete(SEEN, deadline())
        assert breaker.state is BreakerState.CLOSED
        assert (await it.client.complete(READ, deadline())).text == "Since 1840."


async def test_an_unreachable_server_opens_the_breaker() -> None:
    breaker = Breaker(2)
    async with bench({}, guard=guard_of(breaker), base_url=closed_port()) as it:
        for _ in range(2):
            with pytest.raises(DependencyUnavailable):
                await it.client.complete(SEEN, deadline())
    assert breaker.state is BreakerState.OPEN


def sent(prompt: Prompt[str], abilities: Abilities) -> Any:
    messages: Any = request_body(prompt, "m", abilities)["messages"]
    return [each["content"] for each in messages]


def test_messages_without_photos_are_single_strings() -> None:
    blind = Abilities(sees_photos=False)
    assert sent(SEEN, replace(blind, system=False)) == ["You look.\nPhoto.\nWhat?"]
    assert [part["type"] for part in sent(SEEN, Abilities())[1]] == ["image_url", "text", "text"]
    later = Prompt("on", "You look.", (TextPart("And?"),), str, 20, earlier=Earlier(SEEN.user, "A car.", 9))
    assert sent(later, blind) == ["You look.", "Photo.\nWhat?", "A car.", "And?"]
    call = to_model_call(later, blind, "Yes.")
    assert {part.type for message in call.messages for part in message.content} == {"text"}


@pytest.mark.parametrize(
    ("path", "facts", "sees"),
    [
        ("/api/show", {"capabilities": ["completion", "tools"]}, False),
        ("/api/show", {"capabilities": ["completion", "vision"]}, True),
        ("/api/v0/models/m%2F1", {"id": "m/1", "type": "llm"}, False),
        ("/api/v0/models/m%2F1", {"id": "m/1", "type": "vlm"}, True),
        ("/api/v0/models/m%2F1", {"type": "chat", "capabilities": None}, None),
    ],
)
async def test_ollama_and_lm_studio_say_whether_a_model_sees_photos(
    path: str, facts: dict[str, Any], sees: bool | None
) -> None:
    async def handle(url: str, _: Mapping[str, str]) -> Scripted:
        own = url == f"http://vlm{path}"
        return Scripted(json.dumps(facts).encode() if own else b"<html>")

    client = VlmClient(ScriptedHttp(handle), Endpoint("http://vlm/v1", "m/1"))
    assert await client.account.sees_photos(deadline()) is sees
