"""What a probe finds out of a server, and what the first question then costs."""

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
)
from chassis.errors import DependencyUnavailable
from gateway.llm import asking
from gateway.llm.capabilities import Abilities
from gateway.llm.probe import keep_probing, probe
from gateway.llm.reply_forms import SCHEMA
from tests.unit.gateway.llm.stage import ASK, OPTIONS, bench, deadline
from tests.unit.gateway.model_replies import UNKNOWN, replies

pytestmark = pytest.mark.anyio


class Stop(Exception):
    """The test has seen enough."""


@pytest.mark.parametrize(
    ("traits", "abilities"),
    [
        (ServerTraits(), Abilities()),
        (
            LLAMA_ON_VLLM_0_10_2,
            Abilities(schema=False, system=False, context=8192),
        ),
        (ServerTraits(photos=0), Abilities(sees_photos=False)),
        (
            ServerTraits(json_schema=False, json_object=False),
            Abilities(schema=False),
        ),
        (ServerTraits(logprobs=False), Abilities(logprobs=False)),
        (ServerTraits(ignores_logprobs=True), Abilities(logprobs=False)),
        (
            ServerTraits(seed=False, usage=False),
            Abilities(seed=False, usage=False),
        ),
    ],
)
async def test_probe_detects_the_server_s_features(traits: ServerTraits, abilities: Abilities) -> None:
    async with bench(replies(UNKNOWN), traits) as it:
        client = it.client
        assert await probe(client, deadline()) == abilities
        assert client.abilities == abilities
        assert not client.probe_due
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
        assert (it.client.abilities, it.client.probe_due) == (Abilities(), True)
        assert it.client.described == {"name": it.server.model}


async def test_probing_repeats_until_the_server_answers() -> None:
    waits: list[float] = []
    up = anyio.Event()

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            up.set()
        await anyio.lowlevel.checkpoint()
        if len(waits) == 5:
            it.client._reset()  # as a lost connection makes it do
        if len(waits) == 7:
            raise Stop

    def script(request: ScriptedRequest) -> Reply:
        return says(PROBED) if up.is_set() else Fails(500, vllm_error(500, "loading"))

    async with bench(script) as it:
        try:
            await keep_probing([it.client], wait)
        except* Stop:
            pass
    assert len(waits) == 7
    assert waits[:3] == [10.0, 20.0, 40.0]
    assert set(waits[3:]) == {5.0}
    assert len(it.server.requests) == 3 * 2 + 1 + 1  # what fails with a photo is tried without
