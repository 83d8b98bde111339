"""Our client, and a whole question, against a real vLLM that serves a tiny Qwen2.5-VL."""

import json
import math
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import anyio
import httpx
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families
from pydantic import BaseModel, Field

from chassis.errors import DependencyUnavailable
from chassis.http.calls import http_client
from chassis.http.client import Endpoint
from chassis.resilience.deadlines import Deadline
from deploy.one_process import platform
from deploy.settings import LiteSettings
from gateway.llm.call import VlmCall
from gateway.llm.client import VlmClient
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from gateway.llm.reply_forms import SCHEMA
from gateway.llm.server import ContextTooLong
from loreglass_client import AsyncLoreglass
from services.vlm.presets import PRESETS
from tests.unit.chassis.pictures import encoded
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import Serving, serving_preset

MINUTE = 60_000
ROOT = Path(__file__).resolve().parents[2]
OLDER_METRICS = {"vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds_bucket"}
"""Panels also ask for what older versions call differently."""


class Note(BaseModel):
    """A short form, so that a model of random weights ends it."""

    reason: str = Field(max_length=24)
    sure: bool
    answer: str | None = Field(max_length=12)


@pytest.fixture(scope="module")
def vllm(environment: VllmEnvironment) -> Iterator[Serving]:
    """The preset qwen2.5-vl-7b with its own flags, on tiny weights."""
    with serving_preset(environment, PRESETS["qwen2.5-vl-7b"], environment.models / "vlm") as running:
        yield running


@pytest.fixture
async def calls(vllm: Serving) -> list[VlmCall]:
    """What the client observed."""
    return []


@pytest.fixture
async def client(vllm: Serving, calls: list[VlmCall]) -> AsyncIterator[VlmClient]:
    """Our client of it."""
    async with http_client() as http:
        yield VlmClient(http, Endpoint(vllm.url, vllm.model), calls.append)


def photo(colour: tuple[int, int, int] = (200, 30, 30)) -> bytes:
    """A photo of one colour."""
    return encoded(Image.new("RGB", (320, 240), colour), "JPEG")


def prompt(
    question: str = "What colour is it?", *, max_tokens: int = 120, image: bytes | None = None
) -> Prompt[Note]:
    """A prompt with a photo."""
    parts = (ImagePart(image or photo()), TextPart(question))
    return Prompt("note", "You look at photos.", parts, Note, max_tokens)


def minute() -> Deadline:
    """Time enough."""
    return Deadline.after_ms(MINUTE)


async def test_schema_reply_has_token_probabilities(client: VlmClient, calls: list[VlmCall]) -> None:
    completion = await client.complete(prompt(), minute())
    # vLLM's grammar lets control characters into strings, which strict JSON does not.
    assert Note.model_validate(json.loads(completion.text, strict=False)) == completion.value
    assert completion.finish_reason == "stop"
    assert completion.usage is not None
    assert completion.tokens is not None
    assert b"".join(token.data for token in completion.tokens).decode() == completion.text
    for field in Note.model_fields:
        probabilities = completion.probabilities_of(field)
        assert probabilities
        assert all(0 <= probability <= 1 for probability in probabilities)
    others = completion.tokens[0].top_logprobs or []
    assert len(others) == 5
    assert math.isclose(others[0].probability, max(each.probability for each in others))
    assert calls[0].form == SCHEMA
    assert calls[0].requests == 1
    print(f"\n  {completion.text}\n  {calls[0]}")  # noqa: T201


async def test_the_server_has_the_metrics_that_the_dashboards_ask_for(vllm: Serving) -> None:
    dashboards = (ROOT / "deploy" / "grafana" / "dashboards").glob("*.json")
    wanted = {name for path in dashboards for name in re.findall(r"vllm:\w+", path.read_text())}
    async with httpx.AsyncClient() as http:
        page = (await http.get(f"{vllm.url}/metrics")).text
    served = {sample.name for family in text_string_to_metric_families(page) for sample in family.samples}
    assert wanted - OLDER_METRICS
    assert wanted - OLDER_METRICS <= served


async def test_disconnect_stops_the_model(vllm: Serving, client: VlmClient) -> None:
    class Essay(BaseModel):
        text: str = Field(min_length=9000)

    endless = Prompt("essay", "You write.", (TextPart("Write on."),), Essay, 12_000)
    async with anyio.create_task_group() as group:
        group.start_soon(client.complete, endless, minute())
        await _until(lambda: vllm.metric("vllm:num_requests_running") == 1)
        group.cancel_scope.cancel()
    await _until(lambda: vllm.metric("vllm:num_requests_running") == 0)
    finished = vllm.metric("vllm:request_success_total")
    assert (await client.complete(prompt(), minute())).value
    assert vllm.metric("vllm:request_success_total") > finished


async def _until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(30):
        while not holds():  # each look is a request to the server's metrics
            await anyio.lowlevel.checkpoint()


async def test_truncated_reply_is_returned(client: VlmClient) -> None:
    class Loose(BaseModel):
        reason: str = Field(max_length=400)
        answer: str | None = None

    short = Prompt("loose", "You look.", (TextPart("What is it?"),), Loose, 12)
    completion = await client.complete(short, minute())
    assert completion.finish_reason == "length"
    assert completion.value.answer is None


async def test_too_long_prompt_has_its_own_error(client: VlmClient) -> None:
    with pytest.raises(ContextTooLong):
        await client.complete(prompt("word " * 20_000), minute())
    with pytest.raises(ContextTooLong):
        await client.complete(prompt("1 " * 17_000), minute())


async def test_permanent_vllm_refusal_is_a_loreglass_error(client: VlmClient, calls: list[VlmCall]) -> None:
    broken = Prompt("note", "s", (ImagePart(b"\xff\xd8 no photo"), TextPart("?")), Note, 20)
    await client.complete(prompt(), minute())
    with pytest.raises(DependencyUnavailable):
        await client.complete(broken, minute())
    two = Prompt("note", "s", (ImagePart(photo()), ImagePart(photo()), TextPart("?")), Note, 20)
    with pytest.raises(DependencyUnavailable):
        await client.complete(two, minute())
    assert [call.requests for call in calls] == [1, 1, 1]


async def test_vllm_downloads_nothing(vllm: Serving) -> None:
    part = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/photo.jpg"}}
    body = {"model": vllm.model, "messages": [{"role": "user", "content": [part]}], "max_tokens": 1}
    async with httpx.AsyncClient() as http:
        reply = await http.post(f"{vllm.url}/v1/chat/completions", json=body)
    assert reply.status_code == 400
    assert "allowed" in reply.json()["error"]["message"]


@pytest.mark.parametrize(("pipeline", "most"), [("loreglass", 3), ("qa-dragon", 10)])
async def test_gateway_answers_with_vllm(
    vllm: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pipeline: str, most: int
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_REASONING", "vlm")
    monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_URL", vllm.url)
    monkeypatch.setenv("LOREGLASS_GATEWAY_VLM_MODEL", vllm.model)
    before = vllm.metric("vllm:request_success_total")
    async with (
        platform(LiteSettings(port=0, service_port=0, data_dir=tmp_path)) as running,
        AsyncLoreglass(running.gateway_url) as caller,
    ):
        answer = await caller.ask("What colour is it?", photo(), deadline_ms=MINUTE, pipeline=pipeline)
    calls = vllm.metric("vllm:request_success_total") - before
    print(f"\n  {pipeline}: {calls:.0f} VLM calls; {answer.model_dump_json()[:700]}")  # noqa: T201
    assert 1 <= calls <= most
    assert "draft" in answer.timings_ms
    assert not {"draft", "answer"} & set(answer.degraded)
