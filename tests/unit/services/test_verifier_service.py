"""The verifier over HTTP."""

from typing import Any

import pytest

from contracts.verifier import CheckName, VerifyReply
from services.verifier.app import create_app
from services.verifier.settings import Engine, VerifierSettings
from tests.live import live

pytestmark = pytest.mark.anyio

MODELS = [CheckName.TOKEN_MIN, CheckName.TOKEN_MEAN, CheckName.JUDGE]
EVIDENCE = ["A harbour town.", "The Salt Road is a novel by Mira Holm. It has 312 pages."]


async def ask(
    answer: str, supported_from: float = 0.5, engine: Engine = Engine.BUILTIN, **signals: Any
) -> VerifyReply:
    settings = VerifierSettings(port=0, supported_from=supported_from, engine=engine)
    async with live(create_app(settings)) as client:
        body = {
            "question": "How many pages?",
            "answer": answer,
            "evidence": EVIDENCE,
            "entity": "The Salt Road",
            **signals,
        }
        return VerifyReply.model_validate((await client.post("/v1/verify", json=body)).json())


async def test_a_supported_answer_comes_with_the_span_that_carries_it() -> None:
    reply = await ask("It has 312 pages.")
    assert reply.supported
    assert reply.span is not None
    assert EVIDENCE[reply.span.evidence_index][reply.span.start : reply.span.end] == reply.span.text
    assert "312" in reply.span.text
    assert [check.name for check in reply.checks] == [CheckName.TERMS]


async def test_an_unsupported_answer_says_why() -> None:
    reply = await ask("It has 321 pages.")
    assert not reply.supported
    (failed,) = (check for check in reply.checks if not check.passed)
    assert failed.detail == "The evidence does not say this."


async def test_the_threshold_is_a_setting() -> None:
    assert not (await ask("It has 312 pages.", supported_from=1.0)).supported


async def test_a_doubtful_token_refuses_what_the_evidence_supports() -> None:
    reply = await ask("It has 312 pages.", token_probabilities=[0.99, 0.41, 0.99], model_judgement=0.8)
    assert not reply.supported
    assert reply.span is not None
    assert [check.name for check in reply.checks] == [CheckName.TERMS, *MODELS]
    failed = {check.name: check.detail for check in reply.checks if not check.passed}
    assert failed == {
        CheckName.TOKEN_MIN: "The least certain token has probability 0.41, below 0.60.",
        CheckName.TOKEN_MEAN: "The tokens have a mean probability of 0.80, below 0.90.",
    }


async def test_a_lenient_threshold_does_not_override_a_refusing_model() -> None:
    reply = await ask("It has 312 pages.", supported_from=0.0, token_probabilities=[0.5])
    assert not reply.supported


async def test_the_white_box_believes_sure_models_and_does_not_read() -> None:
    reply = await ask(
        "It has 321 pages.",
        engine=Engine.WHITE_BOX,
        token_probabilities=[0.95, 0.99],
        model_judgement=0.9,
    )
    assert reply.supported
    assert [check.name for check in reply.checks] == MODELS


async def test_the_thresholds_of_the_tokens_come_with_the_request() -> None:
    signals: dict[str, Any] = {"token_probabilities": [0.5, 0.7], "token_min": 0.5, "token_mean": 0.6}
    assert (await ask("It has 312 pages.", engine=Engine.WHITE_BOX, **signals)).supported
    strict = await ask("It has 312 pages.", engine=Engine.WHITE_BOX, **{**signals, "token_min": 0.51})
    assert [check.name for check in strict.checks if not check.passed] == [CheckName.TOKEN_MIN]


async def test_invalid_requests_are_refused() -> None:
    signals = (
        '"token_probabilities": [0.5, 1.01]', '"token_probabilities": [-0.1]', '"token_probabilities": [NaN]',
        '"token_min": 1.5', '"model_judgement": NaN',
    )  # fmt: skip
    fields = ('"answer": ""', *(f'"answer": "y", {signal}' for signal in signals))
    json = {"Content-Type": "application/json"}
    async with live(create_app(VerifierSettings(port=0))) as client:
        for field in fields:
            body = f'{{"question": "x", "evidence": [], {field}}}'
            reply = await client.post("/v1/verify", content=body, headers=json)
            status, kind = (400, "malformed_request") if "NaN" in field else (422, "invalid_request")
            assert reply.status_code == status, field
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}"
