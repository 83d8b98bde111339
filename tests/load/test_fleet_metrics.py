"""What the stand-in fleet tells Prometheus: a service's own families, and the model's by vLLM's names."""

from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bench.fleet import serving
from bench.photo import photo
from capacity.standins import QUESTIONS, SERVICES, VLM, Calibration, Node
from contracts.answer import Answer, Route
from gateway.app import create_app
from gateway.settings import GatewaySettings
from tests.live import live

pytestmark = pytest.mark.anyio

INSTANT = Calibration.l40s().scaled(0)


async def _samples(url: str) -> dict[str, float]:
    """Sums by name."""
    async with httpx.AsyncClient() as http:
        text = (await http.get(f"{url}/metrics")).text
    told: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            told[sample.name] = told.get(sample.name, 0.0) + sample.value
    return told


async def test_a_question_shows_at_the_services_and_at_the_model() -> None:
    async with serving(Node(INSTANT, seed=1), dict.fromkeys(SERVICES, 0)) as served:
        urls: dict[str, Any] = {f"{name}_url": url for name, url in served.urls.items()}
        settings = GatewaySettings(**urls, reasoning="vlm", vlm_model=INSTANT.model, latencies="l40s")
        async with live(create_app(settings)) as gateway:
            reply = await gateway.post(
                "/answer",
                files={"image": ("photo.jpg", photo(320, 240), "image/jpeg")},
                data={"question": QUESTIONS[Route.RAG], "deadline_ms": "30000"},
            )
        assert Answer.model_validate_json(reply.content).answer
        model = await _samples(served.urls[VLM])
        reranker = await _samples(served.urls["reranker"])
    assert model["vllm:request_success_total"] >= 2
    assert model["vllm:generation_tokens_total"] > 0
    assert model["vllm:prompt_tokens_total"] > model["vllm:prefix_cache_hits_total"]
    assert model["vllm:time_to_first_token_seconds_count"] == model["vllm:e2e_request_latency_seconds_count"]
    phases = (model[f"vllm:request_{each}_time_seconds_sum"] for each in ("queue", "prefill", "decode"))
    assert sum(phases) == pytest.approx(model["vllm:e2e_request_latency_seconds_sum"])
    assert model["vllm:num_requests_running"] == 0
    assert reranker["loreglass_requests_total"] >= 1
    assert reranker["loreglass_requests_in_flight"] == 0
    assert reranker["loreglass_accelerator_memory_peak_bytes"] > 0


async def test_a_caller_that_leaves_is_counted_as_aborted() -> None:
    async with serving(Node(Calibration.l40s(), seed=1), {VLM: 0}) as served, httpx.AsyncClient() as http:
        body = _request()
        async with http.stream("POST", f"{served.urls[VLM]}/v1/chat/completions", json=body) as response:
            async for _ in response.aiter_raw():
                break
        text = ""
        while 'finished_reason="abort"' not in text:
            text = (await http.get(f"{served.urls[VLM]}/metrics")).text
    assert "vllm:generation_tokens_total" in text


def _request() -> dict[str, object]:
    return {
        "model": INSTANT.model,
        "stream": True,
        "max_tokens": 200,
        "messages": [
            {"role": "system", "content": "You look."},
            {"role": "user", "content": [{"type": "text", "text": "Where is it?"}]},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"name": "understand", "schema": {}}},
    }
