"""The node against its real callers, as services and as a model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import openai
import pytest
from PIL import Image
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.routing import Mount

from bench.node import says, vlm_server
from bench.node.app import MODEL, NodeApp
from bench.node.pace import SERVICES, VLM, Pace, Time
from bench.node.scene import QUESTIONS
from chassis.errors import DeadlineExceeded
from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, CitationKind, Reason, Route
from gateway.app import create_app
from gateway.clients.services import PhotoRecipients, Services
from gateway.settings import GatewaySettings
from tests.live import live, served
from tests.unit.chassis.pictures import encoded

PHOTO = encoded(Image.new("RGB", (320, 240), (90, 120, 150)), "JPEG")


@asynccontextmanager
async def _node(pace: Pace) -> AsyncIterator[tuple[str, NodeApp]]:
    node = NodeApp(pace)
    async with served(Starlette(routes=[Mount("", node)])) as url:  # type: ignore[arg-type]
        yield url, node


@pytest.mark.parametrize("route", list(Route))
async def test_scripted_node_supports_each_route(route: Route) -> None:
    question = {"question": QUESTIONS[route], "deadline_ms": "30000"}
    async with _node(Pace()) as (url, node):
        urls: dict[str, Any] = {f"{name}_url": url for name in (*SERVICES, VLM)}
        settings = GatewaySettings(**urls, reasoning="vlm", vlm_model=MODEL, latencies="l40s")
        async with live(create_app(settings)) as gateway:
            reply = await gateway.post("/answer", files={"image": PHOTO}, data=question)
            ready = (await gateway.get("/health/ready")).json()
    assert reply.status_code == 200, reply.text
    answer = Answer.model_validate_json(reply.content)
    assert (answer.route, answer.reason, answer.degraded) == (route, Reason.ANSWERED, [])
    kinds = {citation.kind for citation in answer.citations}
    assert kinds == {CitationKind.PHOTO} if route is Route.DIRECT else CitationKind.PAGE in kinds
    assert ready["checks"].keys() >= {*SERVICES, VLM}
    assert node.counts()[VLM]["busy"] == 0


async def test_work_waits_for_a_free_worker() -> None:
    pace = Pace(services={"ocr": Time(fixed_ms=60_000, workers=1)})
    async with _node(pace) as (url, node), http_client() as http:
        clients: dict[str, Any] = {name: ServiceClient(http, name, url) for name in Services.names()}
        services = Services(**clients, photo_to=PhotoRecipients(domain_router=True, reranker=True))
        with pytest.raises(DeadlineExceeded):
            await services.read_text(PHOTO, Deadline.after_ms(200))
        while node.counts()["ocr"]["busy"]:  # the client closed its connection, which ends the work
            await services.ready("ocr", Deadline.after_ms(30_000))


class Sign(BaseModel):
    """A form."""

    model_config = {"extra": "forbid"}

    reason: str
    words: str


SIGN = Sign(reason='Letters over a café door: "Zoë’s"', words="Zoë’s 茶")


def client(url: str) -> openai.AsyncOpenAI:
    """OpenAI's client, which neither waits nor tries again."""
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def ask(**more: Any) -> dict[str, Any]:
    """The arguments of a request."""
    schema = Sign.model_json_schema()
    form = {"type": "json_schema", "json_schema": {"name": "sign", "schema": schema, "strict": True}}
    return {
        "model": "scripted-vlm",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What does it say?"}]}],
        "max_tokens": 99,
        "temperature": 0,
        "response_format": form,
    } | more


async def test_replies_parse_with_and_without_streaming() -> None:
    options = {"stream": True, "stream_options": {"include_usage": True}, "logprobs": True}
    async with vlm_server({"sign": says(SIGN)}) as server, client(server.url) as caller:
        reply = await caller.chat.completions.create(**ask(logprobs=True, top_logprobs=2))
        chunks = [chunk async for chunk in await caller.chat.completions.create(**ask(**options))]
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
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert Sign.model_validate_json(text) == SIGN
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert not chunks[-1].choices


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
async def test_invalid_api_requests_are_refused(wrong: dict[str, Any]) -> None:
    async with vlm_server({"sign": says(SIGN)}) as server, httpx.AsyncClient() as caller:
        response = await caller.post(f"{server.url}/v1/chat/completions", json=ask(**wrong))
        assert response.status_code == 400
        assert response.json()["error"]["message"]
        assert server.violations
        server.violations.clear()
