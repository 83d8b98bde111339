"""Questions at a server that behaves as vLLM 0.10.2 does with Llama-3.2-Vision, through the whole gateway."""

from typing import Any

import pytest

from gateway.llm.lines import in_lines
from tests.unit.gateway.fakes import AUTHOR
from tests.unit.gateway.model_replies import SURE
from tests.vlm_server import ServerTraits, says
from tests.vlm_server.cost import ROUTES, SERVERS, asking, costs
from tests.vlm_server.server import LLAMA_ON_VLLM_0_10_2, ScriptedRequest

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("route", ROUTES)
async def test_no_request_is_refused_and_the_model_answers(server: str, route: str) -> None:
    look, question = ROUTES[route]
    [cost] = await costs(SERVERS[server], look, question, count=1)
    assert cost.written_by_model
    assert (cost.requests, cost.refused) == ({"direct": 1, "rag": 2}[route], 0)


async def test_a_model_that_writes_the_lines_that_it_is_asked_for_answers_with_its_source() -> None:
    look, question = ROUTES["rag"]
    scripted = {
        "understand": in_lines(look),
        "answer": AUTHOR,
        "judge": "yes",
    }

    def in_the_form_asked_for(request: ScriptedRequest) -> Any:
        assert ("as lines of text" in request.text) == (request.name == "understand")
        assert "response_format" not in request.body
        return says(scripted[request.name], **SURE)

    script = dict.fromkeys(scripted, in_the_form_asked_for)
    async with asking(script, LLAMA_ON_VLLM_0_10_2) as (client, server, ask):
        answer = await ask(question)
        told = (await client.get("/info")).json()["model"]
    assert answer.answer == AUTHOR
    assert answer.citations
    assert not answer.degraded
    assert told["schema"].startswith("not held")
    assert told["photos"] == "one in a request"
    assert [request.refused for request in server.requests[:3]] == [True, False, True]  # the probe's


async def test_a_gateway_whose_server_is_away_starts_and_tells_only_the_model_s_name() -> None:
    async with asking({}, ServerTraits(key="another"), probed=False) as (client, server, _):
        assert (await client.get("/info")).json()["model"] == {"name": server.model}
    assert server.requests == []
