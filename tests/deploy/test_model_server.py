"""An existing model server: it is found, measured and used by the platform, or refused."""

import json
from collections.abc import Mapping

import pytest
from pydantic import JsonValue

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
from deploy.settings import PocketSettings
from gateway.llm.capabilities import Abilities
from gateway.llm.probe import TASK
from gateway.planning.latencies import VlmSpeed
from gateway.settings import GatewaySettings, Reasoning
from loreglass_client import AsyncLoreglass
from tests.posters import photo
from tests.scripted_http import Scripted, ScriptedHttp

LAPTOP = VlmSpeed(vision_ms=4_000, prefill_ms_per_1k=5_000, decode_ms_per_token=80)
DESKTOP = VlmSpeed(vision_ms=150, prefill_ms_per_1k=50, decode_ms_per_token=15)


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


async def test_the_only_model_is_taken_and_measured_with_a_photo_and_a_long_prompt() -> None:
    messages: list[str] = []
    async with vlm_server(counts) as server:
        model_server = await find_model(server.url, tell=messages.append)
    assert (model_server.url, model_server.model) == (server.url, server.model)
    assert [len(request.images) for request in server.requests] == [0, 0, 0, 1, 1]
    assert max(len(request.text) for request in server.requests) > 4_000
    assert [server.model in line for line in messages] == [True]


async def test_no_two_starts_measure_with_the_same_text_and_probes_begin_alike() -> None:
    async with vlm_server(counts) as server:
        for _ in range(2):
            await find_model(server.url)
    measurements = [request for request in server.requests if TASK not in request.text]
    assert len({request.system for request in measurements}) == len(measurements) == 8
    assert len({request.system for request in server.requests if TASK in request.text}) == 1


async def test_the_key_goes_along() -> None:
    async with vlm_server(counts, ServerTraits(key="sesame")) as server:
        assert (await find_model(server.url, key="sesame")).model == server.model
        with pytest.raises(CannotStart, match="another key"):
            await find_model(server.url, key="wrong")


async def test_a_model_without_photos_is_measured_without_one_and_described_so() -> None:
    async with vlm_server(blind) as server:
        model_server = await find_model(server.url)
    assert not model_server.abilities.sees_photos
    assert [len(request.images) for request in server.requests] == [0, 0, 0, 1, 0, 0]
    text = model_server.description(GatewaySettings())
    assert f"{server.model} reads text; does not see photos: photos are answered by what the services" in text
    assert "after a photo" not in text


async def test_a_model_without_a_chat_template_is_refused_with_what_to_do() -> None:
    complaint = (
        "As of transformers v4.44, default chat template is no longer allowed, so you must provide one"
    )

    async with vlm_server(lambda _: Fails(400, vllm_error(400, complaint))) as server:
        with pytest.raises(CannotStart, match=r"scripted-vlm has no chat template.*--chat-template"):
            await find_model(server.url)


SEVERAL: JsonValue = {"data": [{"id": "small"}, {"id": "large"}]}
EMPTY = "has no models. Load one first .Ollama: ollama pull NAME"


@pytest.mark.parametrize(
    ("reply", "name", "sentence"),
    [
        (SEVERAL, "", "has several models: small, large. Name one: --model-name"),
        ({"data": [{"id": "small"}]}, "large", "has no model large. It has: small"),
        ({"data": [{"id": "text-embedding-e"}]}, "", "has no model that chats: text-embedding-e"),
        ({"data": []}, "", EMPTY),
        ("hello", "", "no OpenAI-compatible API there. Its address usually ends in /v1"),
    ],
)
async def test_a_model_that_cannot_be_chosen_is_an_error_that_says_what_to_do(
    reply: JsonValue, name: str, sentence: str
) -> None:
    async def handle(url: str, sent: Mapping[str, str]) -> Scripted:
        return Scripted(json.dumps(reply).encode())

    with pytest.raises(CannotStart, match=sentence):
        await find_model("http://models.example", name, http=ScriptedHttp(handle))


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Scripted(b"<!doctype html><html>Open WebUI</html>"), "usually ends in /v1"),
        (Scripted(b"", 308, {"location": "/v2/v1/models"}), "redirects to http://models.example/v2/v1. Use"),
        (Scripted(b"oops", 500), "No model server"),
        (Scripted(b'{"error": {"message": "Loading model", "code": 503}}', 503), "still loads its model"),
    ],
)
async def test_a_server_of_another_kind_is_an_error_that_says_which_address_to_use(
    reply: Scripted, sentence: str
) -> None:
    async def handle(url: str, sent: Mapping[str, str]) -> Scripted:
        return reply

    with pytest.raises(CannotStart, match=sentence):
        await find_model("http://models.example", http=ScriptedHttp(handle))


async def test_a_server_that_is_not_there_is_an_error_that_says_so() -> None:
    with pytest.raises(CannotStart, match=r"No model server at http://127\.0\.0\.1:9"):
        await find_model("http://127.0.0.1:9")


def test_a_model_that_is_too_slow_is_described_with_the_deadline_that_would_do() -> None:
    slow = ModelServer("http://127.0.0.1:11434/v1", "a-small-one", LAPTOP)
    patient = GatewaySettings(max_deadline_ms=600_000)
    needed_ms = int(slow.description(patient).partition("DEADLINE_MS=")[2].partition(" ")[0])
    assert slow.question_ms("pocket") < needed_ms < 4 * slow.question_ms("pocket")
    waiting = patient.model_copy(update={"answer_deadline_ms": needed_ms})
    assert "DEADLINE_MS" not in slow.description(waiting)
    assert "smaller model" in slow.description(
        GatewaySettings(answer_deadline_ms=1_000, max_deadline_ms=2_000)
    )


def test_a_quick_model_is_described_without_advice() -> None:
    server = ModelServer("http://127.0.0.1:8000", "a-large-one", DESKTOP, Abilities(context=8_192))
    text = server.description(GatewaySettings())
    assert "67 tokens a second" in text
    assert "Its context is 8,192 tokens." in text
    assert "would do" not in text


@pytest.mark.parametrize(
    ("context", "words"),
    [(4_096, "4,096 tokens; a question needs about 4,500"), (0, "OLLAMA_CONTEXT_LENGTH")],
)
def test_a_short_or_unknown_context_is_described_with_what_to_do(context: int, words: str) -> None:
    server = ModelServer("http://m", "m", DESKTOP, Abilities(context=context))
    assert words in server.description(GatewaySettings())


@pytest.mark.parametrize(
    ("traits", "words"),
    [
        (ServerTraits(), "schema: held; system message: taken; token probabilities: reported"),
        (ServerTraits(logprobs=False), "token probabilities: not reported; thinking: none"),
        (ServerTraits(json_schema=False), "schema: not held, replies are asked for in labelled lines"),
        (LLAMA_ON_VLLM_0_10_2, "refused, sent in the user's message"),
        (LLAMA_ON_VLLM_0_10_2, "Photos: seen; schema: "),
    ],
)
async def test_the_description_says_what_the_server_can_do(traits: ServerTraits, words: str) -> None:
    async with vlm_server(counts, traits) as server:
        model_server = await find_model(server.url)
    assert words in model_server.description(GatewaySettings())


def test_a_speed_that_the_operator_has_set_stays() -> None:
    model_server, settings = ModelServer("http://m", "m", LAPTOP), PocketSettings()
    changed = with_model(model_server, GatewaySettings(), settings)
    assert (changed.reasoning, changed.vlm_model, changed.vlm_speed) == (Reasoning.VLM, "m", LAPTOP)
    assert with_model(model_server, GatewaySettings(vlm_speed=DESKTOP), settings).vlm_speed == DESKTOP


async def test_the_platform_answers_with_the_model_that_it_was_given() -> None:
    prompts: list[str] = []

    def reply(request: ScriptedRequest) -> Reply:
        prompts.append(request.name)
        if request.name != "understand":
            return counts(request)
        draft = {
            "reasoning": ["The sign says so."],
            "answer": "It is a harbour.",
            "answerability": "in_photo",
        }
        return says(draft, probability=0.99)

    async with vlm_server(reply) as server:
        settings = PocketSettings(port=0, service_port=0, model=server.url, log_level="error")
        async with platform(settings) as running, AsyncLoreglass(running.gateway_url) as client:
            await client.ask("What is this place?", photo(), deadline_ms=30_000)
    assert "understand" in prompts
    assert prompts.count("probe") == 1  # at the start, not again by the gateway
