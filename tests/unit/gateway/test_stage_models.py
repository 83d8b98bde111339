"""Further models for some stages: settings, and which model is asked; counts of its calls."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import Any

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from bench.node import RunningServer, Script, ServerTraits, fails, says, vlm_server
from chassis.startup import WrongSettings
from chassis.validation import from_environment
from contracts.answer import Reason
from gateway.llm.prompt import short_name
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import PACKAGED, VlmSpeed, Work, load_latencies
from gateway.planning.stages import PROMPTS, Stage
from gateway.reasoners import Reasoners, open_reasoners
from gateway.reasoning.port import count_calls, counting_calls
from gateway.settings import GatewaySettings
from tests.unit.gateway.asking import UNKNOWN, Ask, asking, replies
from tests.unit.gateway.fakes import AUTHOR
from tests.unit.gateway.platform import QUESTION
from tests.unit.gateway.series import Scrape, scrape

KEY, OTHERS_KEY = "first-key", "planner-key"
PLANNER: dict[str, Any] = {
    "plan_tools": says("<think>Look.</think><tool>\n1. caption: a blue book\n</tool>"),
    "filter_knowledge": says(f"<think>It counts.</think><answer>{AUTHOR}</answer>"),
}
USUAL: dict[str, Any] = {"describe_photo": says("A blue book."), "answer_from_knowledge": says(AUTHOR)}
NAMES = {"system", "question"}
"""Parts of every prompt, not prompts of their own."""


def entry(**fields: Any) -> dict[str, Any]:
    return {"url": "http://vlm-prf:8000", "model": "vlm-prf", "stages": ["tool_plan"]} | fields


@pytest.mark.parametrize(
    ("models", "named"),
    [
        ({"prf": entry(stages=["plan_tools"])}, ["plan_tools", *PROMPTS]),
        ({"prf": entry(stages=["ocr"])}, ["ocr", "knowledge_filter"]),
        ({"prf": entry(stages=[])}, ["stages"]),
        ({"prf": entry(), "other": entry(model="m")}, ["tool_plan", "more than one model"]),
        ({"prf": entry(url="ftp://here")}, ["url", "http"]),
        ({"prf": entry(model="")}, ["model"]),
        ({"prf": entry(tokens=1)}, ["tokens"]),
        ({"prf": entry(sequences=0)}, ["sequences"]),
        ({"A b": entry()}, ["A b"]),
        (["prf"], ["stage_models"]),
    ],
)
def test_invalid_stage_model_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, models: Any, named: list[str]
) -> None:
    monkeypatch.setenv("LOREGLASS_GATEWAY_STAGE_MODELS", json.dumps(models))
    with pytest.raises(WrongSettings) as refused:
        from_environment(GatewaySettings)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert [name for name in named if name.lower() not in sentence.lower()] == []


def test_prompts_and_model_stages_match() -> None:
    folders = [files("gateway.llm") / "prompts"]
    folders += [folder / "prompts" for folder in files("gateway.pipelines").iterdir() if folder.is_dir()]
    written = {
        short_name(file.name.removesuffix(".toml"))
        for folder in folders
        if folder.is_dir()
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    }
    assert sorted([prompt for prompts in PROMPTS.values() for prompt in prompts]) == sorted(written - NAMES)
    for table in PACKAGED:
        assert set(load_latencies(table).model_stages) == set(PROMPTS)


def test_a_stage_is_planned_at_the_speed_of_its_own_model() -> None:
    fast, slow = VlmSpeed(100, 40, 10, prefix_caching=True), VlmSpeed(1_000, 400, 100, prefix_caching=True)
    alone = Estimates(load_latencies("l40s", fast))
    both = Estimates(load_latencies("l40s", fast, {Stage.KNOWLEDGE_FILTER: slow}))
    work = Work(extra_prompt_tokens=500, max_output_tokens=50)
    tokens = alone.latencies.model_stages[Stage.KNOWLEDGE_FILTER].prompt_tokens + 500
    assert both.idle_ms(Stage.KNOWLEDGE_FILTER, work) == 1_000 + 0.4 * tokens + 100 * 50
    assert both.longest_ms(Stage.KNOWLEDGE_FILTER, work) == 1_000 + 0.4 * tokens + 100 * 50
    photo = both.idle_ms(Stage.ANSWER, work) - alone.idle_ms(Stage.ANSWER, work)
    assert photo == pytest.approx(fast.vision_ms)  # the other model may have been the one that read it
    assert both.idle_ms(Stage.RERANKER, work) == alone.idle_ms(Stage.RERANKER, work)


Platform = tuple[httpx.AsyncClient, RunningServer, RunningServer, Ask]


def prompts_of(server: RunningServer) -> list[str]:
    """The prompts of the question."""
    return [request.name for request in server.questions]


@asynccontextmanager
async def platform(planner: Script) -> AsyncIterator[Platform]:
    """A gateway that plans and filters by one model, and does all else by another; both servers."""
    usual, others = ServerTraits(model="base", key=KEY), ServerTraits(model="vlm-prf", key=OTHERS_KEY)
    async with vlm_server(planner, others) as trained:
        stages = ["tool_plan", "knowledge_filter"]
        models = {"prf": entry(url=trained.url, model=trained.model, stages=stages, key=OTHERS_KEY)}
        settings = {"vlm_key": KEY, "stage_models": models}
        async with asking(replies(UNKNOWN) | USUAL, usual, probed=False, **settings) as (client, server, ask):
            yield client, server, trained, ask


async def test_each_stage_uses_its_own_model_with_separate_metrics() -> None:
    async with platform(PLANNER) as (client, usual, planner, ask):
        answer = await ask(QUESTION, pipeline="wiki-prf")
        now = await scrape(client)
        ready = (await client.get("/health/ready")).json()["checks"]
        info = (await client.get("/info")).json()
    assert (answer.answer, answer.degraded) == (AUTHOR, [])
    assert prompts_of(planner) == ["plan_tools", "filter_knowledge"]
    assert prompts_of(usual) == ["describe_photo", "answer_from_knowledge"]
    for server in (planner, usual):
        assert {request.chat.model for request in server.requests} == {server.model}
    calls = "loreglass_vlm_calls_total"
    assert now.value(calls, model="vlm-prf", prompt="plan_tools", outcome="ok") == 1
    assert now.value(calls, model="vlm", prompt="describe_photo", outcome="ok") == 1
    assert now.total(calls) == 4
    read = [now.total("loreglass_vlm_tokens_total", model=m, kind="prompt") for m in ("vlm", "vlm-prf")]
    assert min(read) > 0
    assert answer.model_usage is not None
    assert answer.model_usage.prompt_tokens == sum(read)
    assert (ready["vlm"], ready["vlm-prf"]) == ("ok", "ok")
    assert info["engine"] == "base; vlm-prf (tool_plan, knowledge_filter)"


async def test_unavailable_model_degrades_only_its_stages() -> None:
    async with platform({name: fails(503) for name in PLANNER}) as (client, _, _, ask):
        answer = await ask(QUESTION, pipeline="wiki-prf")
        breakers = await scrape(client)
    assert (answer.answer, answer.reason) == (AUTHOR, Reason.ANSWERED)
    assert set(answer.degraded) == {"tool_plan", "knowledge_filter"}
    assert "vlm-prf" in breakers.labels("loreglass_concurrency_limit", "dependency")


def unprobed(*options: Any) -> Reasoners:
    """Return the reasoners of the settings without the probe of the server."""
    return replace(open_reasoners(*options), keep_probing=None)


unprobed_platform = partial(asking, probed=False, reasoners=unprobed)


def calls_of(now: Scrape) -> tuple[float, float]:
    """Return the number of questions and of the model's requests."""
    name = "loreglass_question_vlm_calls"
    return now.total(f"{name}_count"), now.total(f"{name}_sum")


def test_a_further_models_key_is_not_printed() -> None:
    model = GatewaySettings(stage_models={"prf": entry(key=KEY)}).stage_models["prf"]
    assert (KEY in repr(model), model.key.get_secret_value()) == (False, KEY)


async def test_every_request_to_the_model_counts() -> None:
    async with unprobed_platform(replies(UNKNOWN), ServerTraits(json_schema=False)) as (client, server, ask):
        before = await scrape(client)
        with capture_logs() as lines:
            answer = await ask(QUESTION)
        now = await scrape(client)
        requests = len(server.requests)
    assert before.value("loreglass_breaker_open", dependency="vlm") == 0
    assert before.value("loreglass_concurrency_limit", dependency="vlm") == 8
    assert (answer.route, answer.reason) == ("rag", "answered")
    assert requests > len(server.answered) >= 2
    assert calls_of(now) == (1, requests)
    assert [line["vlm_calls"] for line in lines if line["event"] == "question"] == [requests]


async def test_cancelled_call_counts() -> None:
    hold = anyio.Event()
    script = {"understand": says(UNKNOWN, hold=hold, hold_at=0)}
    with anyio.fail_after(40), capture_logs() as lines:
        async with unprobed_platform(script) as (client, server, ask):
            async with anyio.create_task_group() as group:
                group.start_soon(ask, QUESTION)
                while not server.requests:
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
            while calls_of(now := await scrape(client)) == (0, 0):
                pass
            hold.set()
    assert calls_of(now) == (1, 1)
    [line] = [line for line in lines if line["event"] == "question"]
    assert (line["reason"], line["vlm_calls"]) == ("left", 1)


def test_nested_counts_are_kept_apart() -> None:
    count_calls(1)
    with counting_calls() as mine:
        count_calls(2)
        with counting_calls() as theirs:
            count_calls(4)
        count_calls(8)
    count_calls(16)
    assert (mine.count, theirs.count) == (10, 4)
