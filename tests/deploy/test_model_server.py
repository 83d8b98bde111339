"""An existing model server: it is found, measured and used by the platform, or refused."""

from collections.abc import Mapping

import pytest

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
from chassis.startup import CannotStart
from deploy.model_server import ModelServer, find_model
from deploy.one_process import platform, with_model
from deploy.settings import LiteSettings
from gateway.llm.capabilities import Abilities
from gateway.llm.probe import TASK
from gateway.planning.latencies import VlmSpeed
from gateway.settings import GatewaySettings, Reasoning
from loreglass_client import AsyncLoreglass
from tests.scripted_http import Scripted, ScriptedHttp
from tests.unit.chassis.pictures import encoded, scene

LAPTOP = VlmSpeed(vision_ms=4_000, prefill_ms_per_1k=5_000, decode_ms_per_token=80)
DESKTOP = VlmSpeed(vision_ms=150, prefill_ms_per_1k=50, decode_ms_per_token=15)
PHOTO = encoded(scene(320, 240), "JPEG")


def counts(request: ScriptedRequest) -> Reply:
    if request.name == "probe":
        return says(PROBED)
    if request.body.get("response_format"):
        return says({"word": "ready"})
    return says("one two three four five six seven eight")


def blind(request: ScriptedRequest) -> Reply:
    if request.images:
        return Fails(400, vllm_error(400, "This model does not support images."))
    return counts(request)


async def test_single_model_is_selected_and_measured() -> None:
    messages: list[str] = []
    async with vlm_server(counts) as server:
        model_server = await find_model(server.url, tell=messages.append)
    assert (model_server.url, model_server.model) == (server.url, server.model)
    assert [len(request.images) for request in server.requests] == [0, 0, 0, 1, 1]
    assert max(len(request.text) for request in server.requests) > 4_000
    assert [server.model in line for line in messages] == [True]


async def test_measurements_use_new_texts_and_probes_share_a_prefix() -> None:
    async with vlm_server(counts) as server:
        for _ in range(2):
            await find_model(server.url)
    measurements = [request for request in server.requests if TASK not in request.text]
    assert len({request.system for request in measurements}) == len(measurements) == 8
    assert len({request.system for request in server.requests if TASK in request.text}) == 1


async def test_model_server_key_is_sent() -> None:
    async with vlm_server(counts, ServerTraits(key="sesame")) as server:
        assert (await find_model(server.url, key="sesame")).model == server.model
        with pytest.raises(CannotStart, match="another key"):
            await find_model(server.url, key="wrong")


async def test_text_only_model_is_measured_without_photos_and_reported() -> None:
    async with vlm_server(blind) as server:
        model_server = await find_model(server.url)
    assert not model_server.abilities.sees_photos
    assert [len(request.images) for request in server.requests] == [0, 0, 0, 1, 0, 0]
    text = model_server.description(GatewaySettings())
    assert f"{server.model} reads text; does not see photos: photos are answered by what the services" in text
    assert "after a photo" not in text


async def test_missing_chat_template_is_refused_with_advice() -> None:
    complaint = "default chat template is no longer allowed, so you must provide one"
    async with vlm_server(lambda _: Fails(400, vllm_error(400, complaint))) as server:
        with pytest.raises(CannotStart, match=r"scripted-vlm has no chat template.*--chat-template"):
            await find_model(server.url)


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Scripted(b'{"data": [{"id": "a"}, {"id": "b"}]}'), "several models: a, b. Name one: --model-name"),
        (Scripted(b'{"data": [{"id": "text-embedding-e"}]}'), "has no model that chats: text-embedding-e"),
        (Scripted(b'{"data": []}'), "has no models. Load one first .Ollama: ollama pull NAME"),
        (Scripted(b"<!doctype html><html>Open WebUI</html>"), "Its address usually ends in /v1"),
        (Scripted(b"", 308, {"location": "/v2/v1/models"}), "redirects to http://models.example/v2/v1. Use"),
        (Scripted(b"oops", 500), "No model server"),
        (Scripted(b'{"error": {"message": "Loading model", "code": 503}}', 503), "still loads its model"),
    ],
)
async def test_server_without_a_usable_model_is_an_error_with_advice(reply: Scripted, sentence: str) -> None:
    async def handle(url: str, sent: Mapping[str, str]) -> Scripted:
        return reply

    with pytest.raises(CannotStart, match=sentence):
        await find_model("http://models.example", http=ScriptedHttp(handle))


async def test_missing_model_or_server_is_an_error() -> None:
    async with vlm_server(counts) as server:
        with pytest.raises(CannotStart, match=f"has no model large. It has: {server.model}"):
            await find_model(server.url, "large")
    with pytest.raises(CannotStart, match=r"No model server at http://127\.0\.0\.1:9"):
        await find_model("http://127.0.0.1:9")


def test_slow_model_is_described_with_a_sufficient_deadline() -> None:
    slow = ModelServer("http://127.0.0.1:11434/v1", "a-small-one", LAPTOP)
    patient = GatewaySettings(max_deadline_ms=600_000)
    needed_ms = int(slow.description(patient).partition("DEADLINE_MS=")[2].partition(" ")[0])
    assert slow.question_ms("lite") < needed_ms < 4 * slow.question_ms("lite")
    waiting = patient.model_copy(update={"answer_deadline_ms": needed_ms})
    assert "DEADLINE_MS" not in slow.description(waiting)
    assert "smaller model" in slow.description(
        GatewaySettings(answer_deadline_ms=1_000, max_deadline_ms=2_000)
    )


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (8_192, "Its context is 8,192 tokens."),
        (4_096, "4,096 tokens; a question needs about 4,500"),
        (0, "OLLAMA_CONTEXT_LENGTH"),
    ],
)
def test_fast_model_gets_advice_only_about_its_context(context: int, words: str) -> None:
    text = ModelServer("http://m", "m", DESKTOP, Abilities(context=context)).description(GatewaySettings())
    assert "67 tokens a second" in text
    assert words in text
    assert "would do" not in text


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        (ServerTraits(), "Photos: seen; schema: held; system message: taken; token probabilities: reported"),
        (ServerTraits(logprobs=False), "token probabilities: not reported; thinking: none"),
        (ServerTraits(json_schema=False), "schema: not held, replies are asked for in labelled lines"),
        (LLAMA_ON_VLLM_0_10_2, "refused, sent in the user's message"),
    ],
)
async def test_model_description_lists_server_features(traits: ServerTraits, words: str) -> None:
    async with vlm_server(counts, traits) as server:
        model_server = await find_model(server.url)
    assert words in model_server.description(GatewaySettings())


def test_configured_model_speed_is_kept() -> None:
    model_server, settings = ModelServer("http://m", "m", LAPTOP), LiteSettings()
    changed = with_model(model_server, GatewaySettings(), settings)
    assert (changed.reasoning, changed.vlm_model, changed.vlm_speed) == (Reasoning.VLM, "m", LAPTOP)
    assert with_model(model_server, GatewaySettings(vlm_speed=DESKTOP), settings).vlm_speed == DESKTOP


async def test_platform_answers_with_the_chosen_model() -> None:
    prompts: list[str] = []

    def reply(request: ScriptedRequest) -> Reply:
        prompts.append(request.name)
        if request.name != "understand":
            return counts(request)
        return says({"reasoning": [], "answer": "It is a harbour.", "answerability": "in_photo"})

    async with vlm_server(reply) as server:
        settings = LiteSettings(port=0, service_port=0, model=server.url, log_level="error")
        async with platform(settings) as running, AsyncLoreglass(running.gateway_url) as client:
            await client.ask("What is this place?", PHOTO, deadline_ms=30_000)
    assert "understand" in prompts
    assert prompts.count("probe") == 1  # at the start, not again by the gateway
