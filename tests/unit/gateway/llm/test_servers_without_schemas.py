"""Model servers of all abilities behind a whole gateway: calls a route, and what the gateway reports."""

from dataclasses import replace
from typing import Any

import pytest

from bench.node import LLAMA_ON_VLLM_0_10_2, ScriptedRequest, ServerTraits, says
from contracts.answer import Reason, Route
from gateway.llm.capabilities import TEXT_ONLY, TEXT_ONLY_NOTE
from gateway.llm.reply_forms import in_lines
from tests.unit.gateway.asking import asking
from tests.unit.gateway.fakes import AUTHOR, BOOK, PAGES
from tests.unit.gateway.model_replies import READ, SURE, UNKNOWN, replies

pytestmark = pytest.mark.anyio

SERVERS = {
    "all abilities": ServerTraits(),
    "vLLM 0.10.2, Llama, first template": LLAMA_ON_VLLM_0_10_2,
    "vLLM 0.10.2, Llama, new template": replace(LLAMA_ON_VLLM_0_10_2, system_beside_photo=True),
    "refuses schemas": ServerTraits(json_schema=False, json_object=False),
}
ROUTES: dict[str, tuple[dict[str, Any], str, Route, set[str]]] = {
    "direct": (READ, "What does the cover say?", Route.DIRECT, {"understand"}),
    "rag": (UNKNOWN, "Who wrote this book?", Route.RAG, {"understand", "answer"}),
}


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("route", ROUTES)
async def test_a_route_asks_each_prompt_once_and_no_request_is_refused(server: str, route: str) -> None:
    look, question, expected, prompts = ROUTES[route]
    async with asking(replies(look), SERVERS[server]) as (_, scripted, ask):
        before = len(scripted.requests)
        answer = await ask(question)
        sent = scripted.requests[before:]
    assert (answer.route, answer.reason, answer.degraded) == (expected, Reason.ANSWERED, [])
    assert sorted(request.name for request in sent) == sorted(prompts)
    assert not any(request.refused for request in sent)


async def test_qa_dragon_asks_each_prompt_once() -> None:
    script = replies(UNKNOWN | {"object_label": "poster"})
    async with asking(script, ServerTraits()) as (_, server, ask):
        answer = await ask("Who wrote what is on this poster?", pipeline="qa-dragon")
    assert answer.reason is Reason.ANSWERED
    assert sorted(request.name for request in server.questions) == sorted(
        {*script} - {"understand", "answer"}
    )


async def test_a_reply_in_lines_is_answered_with_its_source() -> None:
    look, question, *_ = ROUTES["rag"]
    scripted = {"understand": in_lines(look), "answer": AUTHOR, "judge": "yes"}

    def in_the_form_asked_for(request: ScriptedRequest) -> Any:
        assert ("as lines of text" in request.text) == (request.name == "understand")
        assert "response_format" not in request.body
        return says(scripted[request.name], **SURE)

    script = dict.fromkeys(scripted, in_the_form_asked_for)
    async with asking(script, LLAMA_ON_VLLM_0_10_2) as (client, server, ask):
        answer = await ask(question)
        model = (await client.get("/info")).json()["model"]
    assert answer.answer == AUTHOR
    assert answer.citations
    assert not answer.degraded
    assert model["schema"].startswith("not held")
    assert model["photos"] == "seen"
    assert [request.refused for request in server.requests[:2]] == [True, False]  # the probe's


async def test_a_gateway_with_a_wrong_key_for_its_model_starts_and_says_so() -> None:
    async with asking({}, ServerTraits(key="another"), probed=False) as (client, server, _):
        assert (await client.get("/info")).json()["model"] == {"name": server.model}
        ready = await client.get("/health/ready")
    assert server.requests == []
    assert ready.status_code == 503
    assert "vlm (dependency_unavailable: the model's server wants another key)" in ready.json()["detail"]


async def test_a_text_only_model_is_reported_and_answers_from_print_entity_and_pages() -> None:
    async with asking(replies(UNKNOWN), ServerTraits(photos=0)) as (client, server, ask):
        ready = await client.get("/health/ready")
        info = (await client.get("/info")).json()["model"]
        setup = (await client.get("/page/setup.json")).json()
        answer = await ask("Who wrote this book?")
    assert (ready.status_code, ready.json()["checks"]["vlm"]) == (200, TEXT_ONLY_NOTE)
    assert (info["name"], info["photos"]) == (server.model, TEXT_ONLY)
    assert setup["sees_photos"] is False
    assert (answer.answer, answer.degraded) == (AUTHOR, [])
    assert {request.name for request in server.questions} == {"answer"}
    assert server.questions[0].images == []
    text = server.questions[0].text
    assert f"<<<the thing asked about>>>\n{BOOK}\n" in text
    for fact in (AUTHOR, PAGES, "THE SALT ROAD"):
        assert fact in text
    assert "The question is about" not in text  # the services' draft
