"""Requests to the model are counted for each question."""

from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from bench.node import ServerTraits, says
from gateway.reasoners import Reasoners, open_reasoners
from gateway.reasoning.port import count_calls, counting_calls
from tests.unit.gateway.asking import asking
from tests.unit.gateway.model_replies import UNKNOWN, replies
from tests.unit.gateway.platform import QUESTION
from tests.unit.gateway.series import Scrape, scrape

pytestmark = pytest.mark.anyio


def unprobed(*options: Any) -> Reasoners:
    """Return the reasoners of the settings without the probe of the server."""
    return replace(open_reasoners(*options), keep_probing=None)


platform = partial(asking, probed=False, reasoners=unprobed)


def calls_of(now: Scrape) -> tuple[float, float]:
    """Return the number of questions and of the model's requests."""
    name = "loreglass_question_vlm_calls"
    return now.total(f"{name}_count"), now.total(f"{name}_sum")


async def test_every_request_to_the_model_counts() -> None:
    async with platform(replies(UNKNOWN), ServerTraits(json_schema=False)) as (client, server, ask):
        with capture_logs() as lines:
            answer = await ask(QUESTION)
        now = await scrape(client)
        requests = len(server.requests)
    assert (answer.route, answer.reason) == ("rag", "answered")
    assert requests > len(server.answered) >= 2
    assert calls_of(now) == (1, requests)
    assert [line["vlm_calls"] for line in lines if line["event"] == "question"] == [requests]


async def test_cancelled_call_counts() -> None:
    hold = anyio.Event()
    async with platform({"understand": says(UNKNOWN, hold=hold, hold_at=0)}) as (client, server, ask):
        with capture_logs() as lines:
            async with anyio.create_task_group() as group:
                group.start_soon(ask, QUESTION)
                with anyio.fail_after(20):
                    while not server.requests:
                        await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            with anyio.fail_after(20):
                while not any(line["event"] == "question" for line in lines):
                    await anyio.lowlevel.checkpoint()
        now = await scrape(client)
        hold.set()
    line = next(line for line in lines if line["event"] == "question")
    assert (line["reason"], line["vlm_calls"]) == ("left", 1)
    assert calls_of(now) == (1, 1)


async def test_guard_of_the_model_has_metrics_before_the_first_call() -> None:
    async with platform(replies(UNKNOWN)) as (client, *_):
        now = await scrape(client)
    assert now.value("loreglass_breaker_open", dependency="vlm") == 0
    assert now.value("loreglass_concurrency_limit", dependency="vlm") == 8


def test_nested_counts_are_kept_apart() -> None:
    count_calls(1)
    with counting_calls() as mine:
        count_calls(2)
        with counting_calls() as theirs:
            count_calls(4)
        count_calls(8)
    count_calls(16)
    assert (mine.count, theirs.count) == (10, 4)
