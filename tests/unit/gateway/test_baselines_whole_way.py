"""The baselines through the gateway's own wiring and HTTP, by either reasoner: calls, prompts, deadlines."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import pytest

from bench.node import RunningServer, Script, says, vlm_server
from chassis.http.serving import BoundApp, listen, running
from contracts.answer import Answer, Reason, Route
from gateway.app import create_app
from gateway.settings import GatewaySettings, Reasoning
from tests.unit.gateway.baselines import CLOSED, SEARCHING
from tests.unit.gateway.fakes import AUTHOR, BOOK, FakeServices, service_settings
from tests.unit.gateway.model_replies import SURE, UNKNOWN, replies
from tests.unit.gateway.platform import PHOTO, QUESTION

pytestmark = pytest.mark.anyio

EVERY = (*CLOSED, *SEARCHING)
SAID = {"answer": AUTHOR}
BASELINES: dict[str, Any] = {
    "answer_alone": says(SAID, **SURE),
    "answer_in_steps": says({"reasoning": [f"The cover says {BOOK}."], **SAID}, **SURE),
    "rewrite_query": says({"query": f"Who wrote {BOOK}?"}, **SURE),
    "answer_from_search": says(SAID, **SURE),
}
SCRIPT: Script = replies(UNKNOWN) | BASELINES
CALLS = {
    "llm-only": ["answer_alone"],
    "cot": ["answer_in_steps"],
    "direct-rag": ["answer_from_search"],
    "crag-mm-task-1": ["answer_from_search"],
    "crag-mm-task-2": ["rewrite_query", "answer_from_search"],
    "crag-mm-task-3": ["rewrite_query", "answer_from_search"],
}


@dataclass(frozen=True, slots=True)
class Platform:
    """A gateway with a model, what it searches with, and the model's server."""

    client: httpx.AsyncClient
    services: FakeServices
    server: RunningServer

    async def ask(self, pipeline: str, question: str = QUESTION, **form: str) -> Answer:
        """The answer of one pipeline; the photo goes along unless a session has it."""
        files = None if "session_id" in form else {"image": ("p.jpg", PHOTO, "image/jpeg")}
        data = {"question": question, "pipeline": pipeline, "deadline_ms": "60000", **form}
        if files is None:
            reply = await self.client.post("/answer", json=data | {"deadline_ms": 60_000})
        else:
            reply = await self.client.post("/answer", files=files, data=data)
        assert reply.status_code == 200, reply.text
        return Answer.model_validate_json(reply.content)


@asynccontextmanager
async def platform(script: Script = SCRIPT) -> AsyncIterator[Platform]:
    """The gateway as its settings make it, with `reasoning=vlm`."""
    services = FakeServices()
    async with vlm_server(script) as server:
        behind = BoundApp(services.app(), listen("127.0.0.1", 0))
        given: dict[str, Any] = {
            **service_settings(behind.url),
            "reasoning": Reasoning.VLM,
            "vlm_url": server.url,
            "vlm_model": server.model,
        }
        bound = BoundApp(create_app(GatewaySettings(**given)), listen("127.0.0.1", 0))
        async with running([behind, bound]), httpx.AsyncClient(base_url=bound.url, timeout=60) as client:
            yield Platform(client, services, server)


async def test_each_baseline_makes_its_calls_and_no_more() -> None:
    async with platform() as it:
        for name, calls in CALLS.items():
            before = len(it.server.questions)
            answer = await it.ask(name)
            assert (answer.answer, answer.reason, answer.degraded) == (AUTHOR, Reason.ANSWERED, [])
            assert answer.route is (Route.DIRECT if name in CLOSED else Route.RAG)
            assert [request.name for request in it.server.questions[before:]] == calls
            cited = [citation.snippet for citation in answer.citations]
            assert cited == ([] if name in CLOSED else [AUTHOR])
    first, *others = it.server.questions
    assert first.images
    for request in others:  # so that a server with prefix caching reads the photo once
        assert (request.system, request.parts[0]) == (first.system, first.parts[0])


async def test_every_pipeline_is_listed_as_a_model() -> None:
    async with platform() as it:
        models = (await it.client.get("/v1/models")).json()["data"]
    assert {model["id"] for model in models} == {*EVERY, "loreglass", "qa-dragon", "three-step", "wiki-prf"}


async def test_a_model_that_hangs_leaves_an_honest_refusal_or_a_quote() -> None:
    script = {name: says(SAID, hold=anyio.Event()) for name in BASELINES}
    async with platform(script) as it:

        async def ask(name: str) -> None:
            answer = await it.ask(name, deadline_ms="4000")
            assert answer.reason in (Reason.TIMED_OUT, Reason.MODEL_UNSURE, Reason.ANSWERED)
            if answer.reason is Reason.ANSWERED:
                assert answer.degraded
                assert name in SEARCHING

        async with anyio.create_task_group() as group:
            for name in EVERY:
                group.start_soon(ask, name)
