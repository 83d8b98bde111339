"""What a probe finds out of a server, and readiness that follows a model which stops and recovers."""

from dataclasses import dataclass

import anyio
import pytest
from structlog.testing import capture_logs

from bench.node import (
    LLAMA_ON_VLLM_0_10_2,
    PROBED,
    Fails,
    Reply,
    ScriptedRequest,
    ServerTraits,
    says,
    vllm_error,
    vlm_server,
)
from chassis.errors import DependencyUnavailable
from chassis.http.calls import http_client
from chassis.http.client import Endpoint
from gateway.llm import asking
from gateway.llm.capabilities import Abilities, Liveness
from gateway.llm.client import VlmClient
from gateway.llm.probe import check, keep_probing, probe
from gateway.llm.reply_forms import SCHEMA
from tests.unit.gateway.asking import UNKNOWN, replies
from tests.unit.gateway.llm.stage import ASK, OPTIONS, READ, SEEN, bench, deadline


class Stop(Exception):
    """The test has seen enough."""


@pytest.mark.parametrize(
    ("traits", "abilities"),
    [
        (ServerTraits(), Abilities()),
        (LLAMA_ON_VLLM_0_10_2, Abilities(schema=False, system=False, context=8192)),
        (ServerTraits(json_schema=False, json_object=False), Abilities(schema=False)),
        (ServerTraits(logprobs=False), Abilities(logprobs=False)),
        (ServerTraits(ignores_logprobs=True), Abilities(logprobs=False)),
        (ServerTraits(seed=False, usage=False), Abilities(seed=False, usage=False)),
    ],
)
async def test_probe_detects_the_server_s_features(traits: ServerTraits, abilities: Abilities) -> None:
    async with bench(replies(UNKNOWN), traits) as it:
        client = it.client
        assert await probe(client, deadline()) == abilities
        assert client.features.current == abilities
        assert not client.features.probe_due
        assert client.described == {"name": "scripted-vlm"} | abilities.described


@pytest.mark.parametrize(("fitted_to", "logged"), [(8_192, []), (16_384, [(8_192, 16_384)])])
async def test_a_too_small_context_window_is_logged(fitted_to: int, logged: list[tuple[int, int]]) -> None:
    async with bench(replies(UNKNOWN), LLAMA_ON_VLLM_0_10_2, context=fitted_to) as it:
        with capture_logs() as logs:
            await probe(it.client, deadline())
    windows = [(each["has"], each["needs"]) for each in logs if each["event"] == "vlm.context_too_small"]
    assert windows == logged


async def test_refused_system_message_costs_one_request_and_keeps_the_schema() -> None:
    async with bench(replies(UNKNOWN), ServerTraits(system_beside_photo=False)) as it:
        for _ in range(2):
            await it.client.complete(asking.understand(ASK, None, OPTIONS), deadline())
        first, second, _ = it.server.requests
    assert [call.requests for call in it.calls] == [2, 1]
    assert {call.form for call in it.calls} == {SCHEMA}
    assert [message["role"] for message in second.body["messages"]] == ["user"]
    text, *rest = second.body["messages"][0]["content"]
    system, user = first.body["messages"]
    assert (text["text"], rest) == (system["content"], user["content"])


async def test_json_without_the_schema_s_fields_means_no_schema() -> None:
    async with bench(lambda _: says({"word": "ready"})) as it:
        assert not (await probe(it.client, deadline())).schema


async def test_failed_probe_keeps_the_features() -> None:
    refusal = Fails(400, vllm_error(400, "This model takes no images."))
    async with bench(lambda _: refusal) as it:
        with pytest.raises(DependencyUnavailable):
            await probe(it.client, deadline())
        assert (it.client.features.current, it.client.features.probe_due) == (Abilities(), True)
        assert it.client.described == {"name": it.server.model}


async def test_probing_repeats_until_the_server_answers() -> None:
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        model.works = len(waits) >= 3
        await anyio.lowlevel.checkpoint()
        if len(waits) == 5:
            it.client._reset()  # as a lost connection makes it do
        if len(waits) == 7:
            raise Stop

    model = Server(works=False)
    async with bench(model.reply) as it:
        try:
            await keep_probing([it.client], wait)
        except* Stop:
            pass
    assert len(waits) == 7
    assert waits[:3] == [10.0, 20.0, 40.0]
    assert set(waits[3:]) == {5.0}
    assert len(it.server.requests) == 3 * 2 + 1 + 1  # what fails with a photo is tried without


@dataclass
class Server:
    """A model that works, or fails at everything."""

    works: bool = True

    def reply(self, request: ScriptedRequest) -> Reply:
        if not self.works:
            return Fails(500, vllm_error(500, "CUDA error"))
        return says(PROBED if request.body.get("response_format") else "ready")


async def is_ready(client: VlmClient) -> bool:
    try:
        await client.ready(deadline())
    except DependencyUnavailable:
        return False
    return True


async def test_readiness_follows_the_model_within_a_minute() -> None:
    now, model = [0.0], Server()
    ready, requests = dict[float, bool](), dict[float, int]()
    async with vlm_server(model.reply) as server, http_client() as http:
        client = VlmClient(http, Endpoint(server.url, server.model), clock=lambda: now[0])

        async def wait(seconds: float) -> None:
            ready[now[0]], requests[now[0]] = await is_ready(client), len(server.requests)
            now[0] += seconds
            model.works = not 40 <= now[0] < 100
            if now[0] == 150:
                raise Stop
            await anyio.lowlevel.checkpoint()

        try:
            await keep_probing([client], wait)
        except* Stop:
            pass
        checks = [request for request in server.requests if request.body["max_tokens"] == 1]
    assert ready[35.0]
    assert not ready[95.0]
    assert next(at for at, is_ready in ready.items() if not is_ready) <= 40 + 30
    assert ready[100.0]
    assert requests[25.0] == requests[0.0]  # no check while the last reply is fresh
    assert requests[30.0] == requests[0.0] + 1
    assert {request.system for request in checks} == {server.requests[0].system}  # one cached beginning


def test_idle_model_is_checked_only_between_calls() -> None:
    now = [0.0]
    liveness = Liveness(lambda: now[0])
    now[0] = 30.0
    assert liveness.check_due
    with liveness.call():
        assert not liveness.check_due


async def test_failed_text_call_triggers_a_check_and_failed_photo_does_not() -> None:
    model = Server(works=False)
    async with bench(model.reply) as it:
        client = it.client
        with pytest.raises(DependencyUnavailable):
            await client.complete(SEEN, deadline())
        assert not client.liveness.check_due
        with pytest.raises(DependencyUnavailable):
            await client.complete(READ, deadline())
        assert client.liveness.check_due
        assert await is_ready(client)
        await check(client)
        with pytest.raises(DependencyUnavailable, match=r"The model does not answer\..*restart it"):
            await client.ready(deadline())
        model.works = True
        await client.complete(READ, deadline())  # any reply tells that it is back
        assert await is_ready(client)


async def test_readiness_names_an_address_or_a_model_that_is_wrong() -> None:
    async with vlm_server({}) as server, http_client() as http:
        with pytest.raises(DependencyUnavailable, match="does not list the model that is set"):
            await VlmClient(http, Endpoint(server.url, "another")).ready(deadline())
        gone = server.url
    async with http_client() as http:
        with pytest.raises(DependencyUnavailable, match="Start it, or correct the address"):
            await VlmClient(http, Endpoint(gone, "m")).ready(deadline())
