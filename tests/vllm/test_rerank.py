"""The reranker service with engine=remote, against a real vLLM that serves a tiny Qwen3-Reranker."""

import json
from collections.abc import Iterator

import pytest

from contracts.reranker import RerankReply
from services.reranker.app import create_app
from services.reranker.settings import Engine, RerankerSettings
from tests.live import live
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import Serving, serving

# How vLLM turns the yes/no language model into a classifier (its documentation of Qwen3-Reranker).
OVERRIDES = {
    "architectures": ["Qwen3ForSequenceClassification"],
    "classifier_from_token": ["no", "yes"],
    "is_original_qwen3_reranker": True,
}
QUESTION = "Who opened the café?"
PASSAGES = ["It opens at nine.", "The café was opened by Ada.", "Gate 7 says no.", "yes"]


@pytest.fixture(scope="module")
def vllm(environment: VllmEnvironment) -> Iterator[Serving]:
    """A reranker of random weights."""
    flags = ("--max-model-len", "512", "--hf-overrides", json.dumps(OVERRIDES))
    with serving(environment, environment.models / "reranker", *flags) as running:
        yield running


async def test_the_service_passes_on_what_vllm_thinks(vllm: Serving) -> None:
    settings = RerankerSettings(
        engine=Engine.REMOTE, remote_url=vllm.url, remote_model=vllm.model, batch_wait_ms=0
    )
    body = {"query": QUESTION, "documents": PASSAGES}
    async with live(create_app(settings)) as service:
        ready = await service.get("/health/ready")
        both = [RerankReply.model_validate_json((await service.post("/v1/rerank", json=body)).content)]
        singles = [
            RerankReply.model_validate_json(
                (await service.post("/v1/rerank", json=body | {"documents": [passage]})).content
            )
            for passage in PASSAGES
        ]
    assert ready.status_code == 200
    scores = {result.index: result.relevance_score for result in both[0].results}
    assert sorted(scores) == list(range(len(PASSAGES)))
    assert all(0 < score < 1 for score in scores.values())
    assert len(set(scores.values())) == len(PASSAGES)
    alone = {place: reply.results[0].relevance_score for place, reply in enumerate(singles)}
    assert alone == pytest.approx(scores, abs=1e-4)
    print(f"\n  {scores}")  # noqa: T201
