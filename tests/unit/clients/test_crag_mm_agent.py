"""CRAG-MM's agent, called as the starter kit calls it."""

import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from typing import Any

import anyio.to_thread
import pytest
from PIL import Image
from structlog.testing import capture_logs

from chassis.errors import NotReady
from clients.crag_mm import DONT_KNOW, LoreglassAgent, photo_of
from clients.settings import AgentSettings
from contracts.answer import Reason, Route
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway

TEAL = Image.new("RGB", (64, 48), "teal")


def follow(ask: Query) -> Outcome:
    """Says which turn this is, and what was said before."""
    if "broken" in ask.question:
        raise NotReady
    if "empty" in ask.question:
        return Outcome("", Reason.ANSWERED, 0.8, Route.RAG)
    before = ask.history[-1].answer if ask.history else "nothing"
    text = f"turn {len(ask.history) + 1} of {ask.question} after {before}"
    return Outcome(text, Reason.ANSWERED, 0.8, Route.RAG)


@asynccontextmanager
async def gateway(name: str = "loreglass") -> AsyncIterator[tuple[str, ScriptedPipeline]]:
    pipeline = ScriptedPipeline(follow, name)
    async with scripted_gateway(pipeline) as url:
        yield url, pipeline


async def answer(url: str, *queries: str, histories: Sequence[Any] = (), **changes: Any) -> list[str]:
    agent = LoreglassAgent(object(), AgentSettings(gateway_url=url, **changes))
    newer = {"rag_context_list": ["z"], "domains": ["book"]}  # arguments of a newer starter kit
    ask = partial(agent.batch_generate_response, list(queries), [TEAL] * len(queries), histories, **newer)
    return await anyio.to_thread.run_sync(ask)


async def test_each_turn_has_the_kits_history() -> None:
    before = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "turn 1"}]
    parts = [
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": "y"},
    ]
    async with gateway() as (url, pipeline):
        texts = await answer(url, "b", "d", "e", histories=[before, [], parts], agent_concurrency=2)
    after = ("turn 2 of b after turn 1", "turn 1 of d after nothing", "turn 2 of e after y")
    assert texts == list(after)
    query_b = next(query for query in pipeline.queries if query.question == "b")
    assert [(turn.question, turn.answer) for turn in query_b.history] == [("a", "turn 1")]


async def test_answers_keep_the_order_and_failures_are_dont_know() -> None:
    async with gateway() as (url, _):
        with capture_logs() as logs:
            text = await answer(url, "a", "it is broken", "b", "empty", "c")
    answers = [f"turn 1 of {query} after nothing" for query in "abc"]
    assert text == [answers[0], DONT_KNOW, answers[1], DONT_KNOW, answers[2]]
    assert [line["why"] for line in logs if line["event"] == "not_answered"] == ["not_ready"]


async def test_settings_choose_the_pipeline() -> None:
    async with gateway(name="cot") as (url, _):
        assert await answer(url, "a", agent_pipeline="cot") == ["turn 1 of a after nothing"]
        assert await answer(url, "a") == [DONT_KNOW]


async def test_all_threads_end() -> None:
    agent = LoreglassAgent(settings=AgentSettings(gateway_url="http://127.0.0.1:9"))
    before = set(threading.enumerate())
    assert agent.batch_generate_response(["a", "b"], [None, None], [None]) == [DONT_KNOW] * 2
    left = [thread for thread in set(threading.enumerate()) - before if not thread.daemon]
    assert left == []


@pytest.mark.parametrize("mode", ["1", "PA", "RGBA", "CMYK", "LAB", "F", "I;16"])
def test_picture_of_any_mode_becomes_a_jpeg(mode: str) -> None:
    picture = Image.new(mode, (80, 60))
    with Image.open(BytesIO(photo_of(picture))) as sent:
        assert (sent.format, sent.mode, sent.size) == ("JPEG", "RGB", (80, 60))


def test_large_picture_is_scaled_down_and_turned_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    buffer = BytesIO()
    Image.new("RGB", (3000, 1500), "teal").save(buffer, "JPEG", exif=exif)
    with Image.open(buffer) as taken, Image.open(BytesIO(photo_of(taken))) as sent:
        assert (sent.size, taken.size) == ((1024, 2048), (3000, 1500))
