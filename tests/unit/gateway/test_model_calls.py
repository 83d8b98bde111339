"""How many requests to the model a question cost: all of its own, and nobody else's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from bench.node import RunningServer, Script, ServerTraits, says, vlm_server
from chassis.http.serving import BoundApp, listen, running
from gateway.app import create_app
from gateway.reasoners import Reasoners, open_reasoners
from gateway.reasoning.calls import calls_counted, count_calls
from gateway.settings import GatewaySettings, Reasoning
from gateway.wiring import wire
from tests.unit.gateway.fakes import FakeServices, service_settings
from tests.unit.gateway.model_replies import READ, SURE, UNKNOWN, replies
from tests.unit.gateway.platform import PHOTO
from tests.unit.gateway.series import Scrape, scrape

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class Platform:
    """A gateway with a model, and the model's server."""

    client: httpx.AsyncClient
    server: RunningServer

    async def ask(self, question: str = "Who wrote this book?") -> dict[str, Any]:
        """The body of the answer."""
        form = {"question": question, "deadline_ms": "60000"}
        reply = await self.client.post("/answer", files={"image": ("p.jpg", PHOTO, "image/jpeg")}, data=form)
        answered: dict[str, Any] = reply.raise_for_status().json()
        return answered


def unprobed(*given: Any) -> Reasoners:
    """As the settings choose, but that nothing is asked beside questions."""
    return replace(open_reasoners(*given), keep_probing=None)


@asynccontextmanager
async def platform(script: Script, traits: ServerTraits | None = None) -> AsyncIterator[Platform]:
    """The gateway as its settings make it, but for the probe."""
    async with vlm_server(script, traits) as server:
        behind = BoundApp(FakeServices().app(), listen("127.0.0.1", 0))
        given: dict[str, Any] = {
            **service_settings(behind.url),
            "reasoning": Reasoning.VLM,
            "vlm_url": server.url,
            "vlm_model": server.model,
        }
        bound = BoundApp(
            create_app(GatewaySettings(**given), partial(wire, open_reasoners=unprobed)),
            listen("127.0.0.1", 0),
        )
        async with running([behind, bound]), httpx.AsyncClient(base_url=bound.url, timeout=60) as client:
            yield Platform(client, server)


def calls_of(now: Scrape) -> tuple[float, float]:
    """Questions, and the model's requests in all of them."""
    name = "loreglass_question_vlm_calls"
    return now.total(f"{name}_count"), now.total(f"{name}_sum")


async def test_every_request_to_the_model_counts_also_those_it_refuses_in_part() -> None:
    async with platform(replies(UNKNOWN), ServerTraits(json_schema=False)) as it:
        with capture_logs() as lines:
            body = await it.ask()
        now = await scrape(it.client)
        requests = len(it.server.requests)
    assert (body["route"], body["reason"]) == ("rag", "answered")
    assert requests > len(it.server.answered) >= 2
    assert calls_of(now) == (1, requests)
    assert [line["vlm_calls"] for line in lines if line["event"] == "question"] == [requests]


async def test_questions_at_once_do_not_mix_their_calls() -> None:
    async with platform(replies(UNKNOWN) | {"understand": [says(UNKNOWN, **SURE), says(READ, **SURE)]}) as it:
        with capture_logs() as lines:
            async with anyio.create_task_group() as group:
                group.start_soon(it.ask)
                group.start_soon(it.ask)
        now = await scrape(it.client)
        requests = len(it.server.requests)
    counts = {line["route"]: line["vlm_calls"] for line in lines if line["event"] == "question"}
    assert counts["direct"] == 1
    assert counts["rag"] == requests - 1 >= 2
    assert calls_of(now) == (2, requests)


async def test_a_call_that_is_cut_short_was_made_too() -> None:
    hold = anyio.Event()
    async with platform({"understand": says(UNKNOWN, hold=hold, hold_at=0)}) as it:
        with capture_logs() as lines:
            async with anyio.create_task_group() as group:
                group.start_soon(it.ask)
                with anyio.fail_after(20):
                    while not it.server.requests:
                        await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            with anyio.fail_after(20):
                while not any(line["event"] == "question" for line in lines):
                    await anyio.lowlevel.checkpoint()
        now = await scrape(it.client)
        hold.set()
    line = next(line for line in lines if line["event"] == "question")
    assert (line["reason"], line["vlm_calls"]) == ("left", 1)
    assert calls_of(now) == (1, 1)


async def test_the_model_s_guard_is_seen_before_the_first_call() -> None:
    async with platform(replies(UNKNOWN)) as it:
        now = await scrape(it.client)
    assert now.value("loreglass_breaker_open", dependency="vlm") == 0
    assert now.value("loreglass_concurrency_limit", dependency="vlm") == 8


def test_what_nobody_asked_for_is_nobody_s() -> None:
    count_calls(1)
    with calls_counted() as mine:
        count_calls(2)
        with calls_counted() as theirs:
            count_calls(4)
        count_calls(8)
    count_calls(16)
    assert (mine.count, theirs.count) == (10, 4)
