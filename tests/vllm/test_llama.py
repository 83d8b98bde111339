"""Llama-3.2-Vision (tiny, random weights) on vLLM 0.10.2 and its V0 engine.

What the scripted server says that this one does (`LLAMA_ON_VLLM_0_10_2`) is put to both.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from bench.node import LLAMA_ON_VLLM_0_10_2, says, vlm_server
from chassis.http.calls import http_client
from chassis.resilience.deadlines import Deadline
from gateway.llm.call import VlmCall, VlmEndpoint
from gateway.llm.capabilities import Abilities, Photos
from gateway.llm.client import VlmClient
from gateway.llm.failures import ContextTooLong
from gateway.llm.probe import probe
from gateway.llm.prompt import ImagePart, TextPart, TextPrompt
from gateway.llm.reply_forms import SchemaForm
from services.vlm.presets import PRESETS
from tests.vllm.environment import OLD_TEMPLATE, VllmEnvironment
from tests.vllm.serving import Serving, serving_on_v0
from tests.vllm.test_vlm import minute, photo, prompt

pytestmark = pytest.mark.anyio
LLAMA = PRESETS["llama-3.2-11b-vision"]
PHOTO = {"type": "image_url", "image_url": {"url": ImagePart(photo()).data_uri}}
QUESTION = {"type": "text", "text": "What colour is it?"}
SYSTEM = {"role": "system", "content": "You look at photos."}
CLOSED = {
    "type": "object",
    "properties": {"a": {"enum": ["x"]}},
    "required": ["a"],
    "additionalProperties": False,
}
FORM = {"type": "json_schema", "json_schema": {"name": "note", "schema": CLOSED, "strict": True}}


@pytest.fixture(scope="module", params=["new template", "old template"])
def llama(v0: VllmEnvironment, request: pytest.FixtureRequest) -> Iterator[Serving]:
    """The card's preset with its own flags, with both of the weights' chat templates."""
    old = ("--chat-template", str(v0.models / OLD_TEMPLATE))
    with serving_on_v0(v0, LLAMA, *(old if request.param == "old template" else ())) as running:
        yield running


@pytest.fixture
def is_old(request: pytest.FixtureRequest) -> bool:
    """Whether the template refuses a system message beside a photo."""
    return "old template" in request.node.name


@pytest.fixture
async def client(llama: Serving) -> AsyncIterator[VlmClient]:
    """Our client of it."""
    async with http_client() as http:
        yield VlmClient(http, VlmEndpoint(llama.url, llama.model))


async def put(url: str, model: str, *parts: Any, system: bool = False, **more: Any) -> httpx.Response:
    """The bare request."""
    turns = [*([SYSTEM] if system else []), {"role": "user", "content": list(parts)}]
    body = {"model": model, "messages": turns, "max_tokens": 8, "temperature": 0} | more
    async with httpx.AsyncClient(timeout=60) as http:
        return await http.post(f"{url}/v1/chat/completions", json=body)


def told(reply: httpx.Response) -> tuple[int, str]:
    """The status, and of a refusal its words up to the first sentence's end."""
    return reply.status_code, "" if reply.is_success else reply.json()["error"]["message"].split(".")[0]


@pytest.mark.parametrize("case", ["system beside a photo", "two photos", "a schema", "plain"])
async def test_the_scripted_server_answers_as_it_does(llama: Serving, is_old: bool, case: str) -> None:
    parts, more = {
        "system beside a photo": ((PHOTO, QUESTION), {"system": True}),
        "two photos": ((PHOTO, PHOTO, QUESTION), {}),
        "a schema": ((PHOTO, QUESTION), {"response_format": FORM}),
        "plain": ((QUESTION,), {"system": True}),
    }[case]
    if case == "system beside a photo" and not is_old:
        assert told(await put(llama.url, llama.model, *parts, **more)) == (200, "")
        return
    async with vlm_server(lambda _: says("red"), LLAMA_ON_VLLM_0_10_2) as scripted:
        ours = await put(scripted.url, scripted.model, *parts, **more)
    assert told(await put(llama.url, llama.model, *parts, **more)) == told(ours)


async def test_the_probe_finds_what_the_preset_says(client: VlmClient, is_old: bool) -> None:
    found = await probe(client, minute())
    assert found == Abilities(
        form=SchemaForm.WORDS, system=not is_old, photos=Photos.ONE, context=LLAMA.context
    )
    assert (LLAMA.holds_schema, LLAMA.masked_logprobs, LLAMA.photos) == (False, False, 1)
    assert not LLAMA.system_beside_photo  # not with every template
    print(f"\n  {json.dumps(found.described)}")  # noqa: T201


async def test_after_the_probe_a_photo_is_seen_at_the_first_request(llama: Serving) -> None:
    calls: list[VlmCall] = []
    look = TextPrompt("look", "You look.", (ImagePart(photo()), TextPart("What is it?")), 12, measured=True)
    async with http_client() as http:
        client = VlmClient(http, VlmEndpoint(llama.url, llama.model), calls.append)
        await probe(client, minute())
        written = await client.write(look, minute())
    assert [call.requests for call in calls] == [1]
    assert written.tokens is not None
    assert written.usage is not None


async def test_a_prompt_beyond_the_context_has_its_own_error(client: VlmClient) -> None:
    for words in ("word " * 20_000, "1 " * (LLAMA.context - 42)):
        with pytest.raises(ContextTooLong):
            await client.complete(prompt(words), Deadline.after_ms(60_000))
