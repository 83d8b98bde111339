"""The verifier over HTTP."""

import pytest

from contracts.verifier import CheckName, VerifyReply
from services.verifier.app import create_app
from services.verifier.settings import VerifierSettings
from tests.live import live

pytestmark = pytest.mark.anyio

EVIDENCE = ["A harbour town.", "The Salt Road is a novel by Mira Holm. It has 312 pages."]


async def ask(answer: str, supported_from: float = 0.5) -> VerifyReply:
    async with live(create_app(VerifierSettings(port=0, supported_from=supported_from))) as client:
        body = {
            "question": "How many pages?",
            "answer": answer,
            "evidence": EVIDENCE,
            "entity": "The Salt Road",
        }
        return VerifyReply.model_validate((await client.post("/v1/verify", json=body)).json())


async def test_a_supported_answer_comes_with_the_span_that_carries_it() -> None:
    reply = await ask("It has 312 pages.")
    assert reply.supported
    assert reply.span is not None
    assert EVIDENCE[reply.span.evidence_index][reply.span.start : reply.span.end] == reply.span.text
    assert "312" in reply.span.text
    assert [check.name for check in reply.checks] == list(CheckName)


async def test_an_unsupported_answer_says_what_was_missing() -> None:
    reply = await ask("It has 321 pages.")
    assert not reply.supported
    failed = {check.name: check.detail for check in reply.checks if not check.passed}
    assert failed[CheckName.NUMBERS] == "The evidence does not give 321."


async def test_the_threshold_is_a_setting() -> None:
    assert not (await ask("It has 312 pages.", supported_from=1.0)).supported


async def test_an_empty_answer_is_refused() -> None:
    async with live(create_app(VerifierSettings(port=0))) as client:
        reply = await client.post("/v1/verify", json={"question": "x", "answer": "", "evidence": []})
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("answer:")


async def test_readiness_runs_the_engine() -> None:
    async with live(create_app(VerifierSettings(port=0))) as client:
        ready = await client.get("/health/ready")
    assert ready.json() == {"status": "ok", "checks": {"engine": "ok"}}
