"""What a probe finds out of a server, and what the first question then costs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from structlog.testing import capture_logs

from bench.node import (
    LLAMA_ON_VLLM_0_10_2,
    PROBED,
    Fails,
    Reply,
    RunningServer,
    ScriptedRequest,
    ServerTraits,
    says,
    vllm_error,
    vlm_server,
)
from chassis.errors import DependencyUnavailable
from chassis.http.calls import http_client
from gateway.llm import asking
from gateway.llm.call import VlmCall, VlmEndpoint
from gateway.llm.capabilities import Abilities, Photos, without
from gateway.llm.client import VlmClient
from gateway.llm.probe import keep_probing, probe
from gateway.llm.schema_forms import SchemaForm
from tests.unit.gateway.llm.stage import ASK, OPTIONS, deadline
from tests.unit.gateway.model_replies import UNKNOWN, replies

pytestmark = pytest.mark.anyio


class Stop(Exception):
    """The test has seen enough."""


@asynccontextmanager
async def at(
    traits: ServerTraits, calls: list[VlmCall] | None = None
) -> AsyncIterator[tuple[VlmClient, RunningServer]]:
    """A client of a server with these traits."""
    async with vlm_server(replies(UNKNOWN), traits) as server, http_client() as http:
        observe = calls.append if calls is not None else lambda _: None
        yield VlmClient(http, VlmEndpoint(server.url, server.model), observe), server


@pytest.mark.parametrize(
    ("traits", "found"),
    [
        (ServerTraits(), Abilities(masked=True, photos=Photos.SEVERAL)),
        (
            LLAMA_ON_VLLM_0_10_2,
            Abilities(form=SchemaForm.WORDS, system=False, photos=Photos.ONE, context=8192),
        ),
        (ServerTraits(photos=0), Abilities(masked=True, photos=Photos.NONE)),
        (
            ServerTraits(json_schema=False, json_object=False),
            Abilities(form=SchemaForm.WORDS, photos=Photos.SEVERAL),
        ),
        (ServerTraits(logprobs=False), Abilities(logprobs=False, photos=Photos.SEVERAL)),
        (ServerTraits(ignores_logprobs=True), Abilities(logprobs=False, photos=Photos.SEVERAL)),
        (
            ServerTraits(seed=False, usage=False),
            Abilities(seed=False, usage=False, masked=True, photos=Photos.SEVERAL),
        ),
    ],
)
async def test_a_probe_finds_what_the_server_does(traits: ServerTraits, found: Abilities) -> None:
    async with at(traits) as (client, _):
        assert await probe(client, deadline()) == found
        assert client.abilities == found
        assert not client.probe_due
        assert client.described == {"name": "scripted-vlm"} | found.described


@pytest.mark.parametrize(("fitted_to", "logged"), [(8_192, []), (16_384, [(8_192, 16_384)])])
async def test_a_too_small_context_window_is_logged(fitted_to: int, logged: list[tuple[int, int]]) -> None:
    async with vlm_server(replies(UNKNOWN), LLAMA_ON_VLLM_0_10_2) as server, http_client() as http:
        client = VlmClient(http, VlmEndpoint(server.url, server.model, context=fitted_to))
        with capture_logs() as logs:
            await probe(client, deadline())
    found = [(each["has"], each["told"]) for each in logs if each["event"] == "vlm.context_too_small"]
    assert found == logged


@pytest.mark.parametrize(
    "traits",
    [LLAMA_ON_VLLM_0_10_2, ServerTraits(json_schema=False, json_object=False), ServerTraits(photos=0)],
)
async def test_after_a_probe_a_question_costs_one_request(traits: ServerTraits) -> None:
    calls: list[VlmCall] = []
    async with at(traits, calls) as (client, server):
        await probe(client, deadline())
        before = len(server.requests)
        await client.complete(asking.understand(ASK, None, OPTIONS), deadline())
        assert len(server.requests) == before + 1
    assert [call.requests for call in calls] == [1]


async def test_without_a_probe_a_template_s_refusal_costs_one_request_and_not_the_schema() -> None:
    calls: list[VlmCall] = []
    async with at(ServerTraits(system_beside_photo=False), calls) as (client, server):
        for _ in range(2):
            await client.complete(asking.understand(ASK, None, OPTIONS), deadline())
        first, second, _ = server.requests
    assert [(call.requests, call.form) for call in calls] == [(2, SchemaForm.SCHEMA), (1, SchemaForm.SCHEMA)]
    assert [message["role"] for message in second.body["messages"]] == ["user"]
    text, *rest = second.body["messages"][0]["content"]
    system, user = first.body["messages"]
    assert (text["text"], rest) == (system["content"], user["content"])


@pytest.mark.parametrize(
    ("complaint", "less"),
    [
        ("Prompting with images is incompatible with system messages. Prompting …", Abilities(system=False)),
        ("System role not supported", Abilities(system=False)),
        ("At most 1 image(s) may be provided in one prompt. None", None),
        ("cannot identify image file", None),
    ],
)
def test_a_refusal_of_template_or_photo_is_not_blamed_on_the_schema(
    complaint: str, less: Abilities | None
) -> None:
    assert without(Abilities(), complaint, confirmed=False) == less


async def test_a_server_that_writes_json_of_its_own_accord_holds_no_schema() -> None:
    async with vlm_server(lambda _: says({"word": "ready"})) as server, http_client() as http:
        client = VlmClient(http, VlmEndpoint(server.url, server.model))
        assert (await probe(client, deadline())).form is SchemaForm.WORDS


async def test_a_server_that_refuses_everything_is_an_error_and_leaves_the_abilities_alone() -> None:
    refusal = Fails(400, vllm_error(400, "This model takes no images."))
    async with vlm_server(lambda _: refusal) as server, http_client() as http:
        client = VlmClient(http, VlmEndpoint(server.url, server.model))
        with pytest.raises(DependencyUnavailable):
            await probe(client, deadline())
        assert (client.abilities, client.probe_due) == (Abilities(), True)
        assert client.described == {"name": server.model}


async def test_probing_goes_on_until_the_server_answers_and_begins_anew_when_it_was_away() -> None:
    waits: list[float] = []
    up = anyio.Event()

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            up.set()
        await anyio.lowlevel.checkpoint()
        if len(waits) == 5:
            client._reset()  # as a lost connection makes it do
        if len(waits) == 7:
            raise Stop

    def script(request: ScriptedRequest) -> Reply:
        return says(PROBED) if up.is_set() else Fails(500, vllm_error(500, "loading"))

    async with vlm_server(script) as server, http_client() as http:
        client = VlmClient(http, VlmEndpoint(server.url, server.model))
        try:
            await keep_probing([client], wait)
        except* Stop:
            pass
    assert len(waits) == 7
    assert waits[:3] == [10.0, 20.0, 40.0]
    assert set(waits[3:]) == {5.0}
    assert len(server.requests) == 3 * 2 + 2 + 2  # what fails with a photo is tried without
