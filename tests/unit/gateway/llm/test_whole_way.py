"""A question's whole way through the gateway with the model in it: how many calls each route takes."""

from collections import Counter
from functools import partial
from typing import Any

import httpx
import pytest

from bench.node import RunningServer, ServerTraits, vlm_server
from chassis.http.calls import http_client
from chassis.http.client import HttpClient
from chassis.http.serving import BoundApp, listen, running
from contracts.answer import Answer, Reason, Route
from gateway.app import create_app
from gateway.llm.call import VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.llm.options import VlmOptions
from gateway.llm.reasoner import VlmReasoner
from gateway.reasoners import PaperModel, Reasoners
from gateway.reasoning.port import Read
from gateway.serving.guards import Guards
from gateway.settings import GatewaySettings
from gateway.wiring import wire
from tests.unit.gateway.fakes import AUTHOR, FakeServices, service_settings
from tests.unit.gateway.model_replies import READ, UNKNOWN, replies
from tests.unit.gateway.platform import PHOTO

pytestmark = pytest.mark.anyio


async def asked(
    look: dict[str, Any], question: str, pipeline: str, traits: ServerTraits | None = None
) -> tuple[Answer, RunningServer]:
    """The gateway's answer, and the model's server with what it was asked."""
    services = FakeServices()
    async with vlm_server(replies(look), traits) as server, http_client() as http:
        model = VlmClient(http, VlmEndpoint(server.url, server.model))
        behind = BoundApp(services.app(), listen("127.0.0.1", 0))
        settings = GatewaySettings(**service_settings(behind.url, None))  # type: ignore[arg-type]

        def reasoners(
            _settings: GatewaySettings, _http: HttpClient, _guards: Guards, read: Read
        ) -> Reasoners:
            return Reasoners(VlmReasoner(model), for_papers=PaperModel(model, VlmOptions()))

        app = create_app(settings, partial(wire, open_reasoners=reasoners))
        bound = BoundApp(app, listen("127.0.0.1", 0))
        async with running([behind, bound]), httpx.AsyncClient(base_url=bound.url, timeout=60) as client:
            form = {"question": question, "pipeline": pipeline, "deadline_ms": "60000"}
            reply = await client.post("/answer", files={"image": ("p.jpg", PHOTO, "image/jpeg")}, data=form)
    assert reply.status_code == 200, reply.text
    return Answer.model_validate_json(reply.content), server


def calls(server: RunningServer) -> Counter[str]:
    """How often each prompt was put to the model."""
    return Counter(request.name for request in server.answered)


async def test_the_direct_route_takes_one_call() -> None:
    answer, server = await asked(READ, "What does the cover say?", "loreglass")
    assert (answer.route, answer.reason) == (Route.DIRECT, Reason.ANSWERED)
    assert calls(server) == {"understand": 1}


async def test_a_draft_that_was_not_measured_is_looked_up_whatever_it_says() -> None:
    answer, server = await asked(READ, "What does the cover say?", "loreglass", ServerTraits(logprobs=False))
    assert answer.route is Route.RAG
    assert calls(server)["answer"] == 1


@pytest.mark.parametrize(
    "traits",
    [None, ServerTraits(json_schema=False, json_object=False, logprobs=False)],
    ids=["able", "neither schema nor logprobs"],
)
async def test_the_rag_route_takes_at_most_three_calls(traits: ServerTraits | None) -> None:
    answer, server = await asked(UNKNOWN, "Who wrote this book?", "loreglass", traits)
    assert (answer.route, answer.reason) == (Route.RAG, Reason.ANSWERED)
    assert answer.answer == AUTHOR
    assert answer.citations
    counted = calls(server)
    assert set(counted) <= {"understand", "answer", "judge"}
    assert counted.total() <= 3
    assert max(counted.values()) == 1


async def test_qa_dragon_takes_one_call_a_step() -> None:
    answer, server = await asked(
        UNKNOWN | {"object_label": "poster"}, "Who wrote what is on this poster?", "qa-dragon"
    )
    assert answer.reason is Reason.ANSWERED
    assert max(calls(server).values()) == 1
    assert set(calls(server)) == {*replies(UNKNOWN)} - {"understand", "rewrite"}


async def test_every_call_of_a_request_reuses_the_photo() -> None:
    _, server = await asked(
        UNKNOWN | {"object_label": "poster"}, "Who wrote what is on this poster?", "qa-dragon"
    )
    first = server.requests[0]
    for request in server.requests:
        assert request.images == first.images
        assert (request.system, request.parts[0]) == (first.system, first.parts[0])
