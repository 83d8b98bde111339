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


async def test_service_returns_vllms_scores(vllm: Serving) -> None:
    settings = RerankerSettings(
        engine=Engine.REMOTE, remote_url=vllm.url, remote_model=vllm.model, batch_wait_ms=0
    )
    replies = []
    async with live(create_app(settings)) as service:
        for documents in (PASSAGES, *([passage] for passage in PASSAGES)):
            body = {"query": QUESTION, "documents": documents}
            reply = await service.post("/v1/rerank", json=body)
            replies.append(RerankReply.model_validate_json(reply.content).results)
    together, *alone = replies
    scores = {result.index: result.relevance_score for result in together}
    print(f"\n  {scores}")  # noqa: T201
    assert sorted(scores) == list(range(len(PASSAGES)))
    assert all(0 < score < 1 for score in scores.values())
    assert len(set(scores.values())) == len(PASSAGES)
    assert [reply[0].relevance_score for reply in alone] == pytest.approx(
        [scores[place] for place in range(len(PASSAGES))], abs=1e-4
    )
