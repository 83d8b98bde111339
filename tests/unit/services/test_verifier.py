"""The verifier: its service, and how sure signals and evidence make it."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.verifier import CheckName, VerifyReply
from services.verifier.app import create_app
from services.verifier.engine import NO_SIGNALS, ModelSignals, Verdict
from services.verifier.engines.builtin import BuiltinVerifier
from services.verifier.engines.certainty import Certainty, WhiteBoxVerifier, certainty_of
from services.verifier.settings import Engine, VerifierSettings
from tests.live import live

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


async def test_supported_answer_has_its_span_and_others_a_reason() -> None:
    reply = await ask("It has 312 pages.")
    assert reply.supported
    assert reply.span is not None
    assert EVIDENCE[reply.span.evidence_index][reply.span.start : reply.span.end] == reply.span.text
    assert "312" in reply.span.text
    assert [check.name for check in reply.checks] == [CheckName.TERMS]
    # Without a model's signals, the white-box engine reads the evidence.
    other = await ask("It has 321 pages.", engine=Engine.WHITE_BOX)
    assert not other.supported
    assert [check.detail for check in other.checks if not check.passed] == ["The evidence does not say this."]
    assert not (await ask("It has 312 pages.", supported_from=1.0)).supported


async def test_uncertain_token_refuses_a_supported_answer() -> None:
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


async def test_white_box_engine_accepts_confident_models() -> None:
    reply = await ask(
        "It has 321 pages.", engine=Engine.WHITE_BOX, token_probabilities=[0.95, 0.99], model_judgement=0.9
    )
    assert reply.supported
    assert [check.name for check in reply.checks] == MODELS


async def test_the_thresholds_of_the_tokens_come_with_the_request() -> None:
    signals: dict[str, Any] = {"token_probabilities": [0.5, 0.7], "token_min": 0.5, "token_mean": 0.6}
    assert (await ask("It has 312 pages.", engine=Engine.WHITE_BOX, **signals)).supported
    strict = await ask("It has 312 pages.", engine=Engine.WHITE_BOX, **{**signals, "token_min": 0.51})
    assert [check.name for check in strict.checks if not check.passed] == [CheckName.TOKEN_MIN]


async def test_requests_with_invalid_probabilities_are_refused() -> None:
    fields = {
        '"token_probabilities": [0.5, 1.01]': 422,
        '"token_min": 1.5': 422,
        '"model_judgement": NaN': 400,
    }
    json = {"Content-Type": "application/json"}
    async with live(create_app(VerifierSettings(port=0))) as client:
        for field, status in fields.items():
            body = f'{{"question": "x", "evidence": [], "answer": "y", {field}}}'
            assert (await client.post("/v1/verify", content=body, headers=json)).status_code == status, field


BUILTIN = BuiltinVerifier()
WHITE_BOX = WhiteBoxVerifier(BUILTIN)
SIGNAL_EVIDENCE = ["The Salt Road is a novel by Mira Holm. It has 312 pages."]
PROBABILITIES = st.floats(0.0, 1.0)
TOKENS = st.lists(PROBABILITIES, min_size=1, max_size=8).map(tuple)


@st.composite
def any_signals(draw: st.DrawFn) -> ModelSignals:
    """At least one signal."""
    tokens = draw(TOKENS | st.just(()))
    judgement = draw(PROBABILITIES if not tokens else PROBABILITIES | st.none())
    return ModelSignals(tokens, draw(PROBABILITIES), draw(PROBABILITIES), judgement)


def certain(signals: ModelSignals) -> Certainty:
    certainty = certainty_of(signals)
    assert certainty is not None
    return certainty


def verify(engine: WhiteBoxVerifier | BuiltinVerifier, answer: str, signals: ModelSignals) -> Verdict:
    return engine.verify("How many pages?", answer, SIGNAL_EVIDENCE, "The Salt Road", signals)


@given(any_signals())
def test_every_signal_must_reach_its_threshold_and_has_a_check(signals: ModelSignals) -> None:
    tokens = signals.token_probabilities
    mean = math.fsum(tokens) / len(tokens) if tokens else 1.0
    sure = not tokens or (min(tokens) >= signals.token_min and max(mean, min(tokens)) >= signals.token_mean)
    judged = signals.judgement is None or signals.judgement >= 0.5
    certainty = certain(signals)
    assert certainty.accepted == (sure and judged)
    assert (certainty.probability >= 0.5) == certainty.accepted
    assert 0.0 <= certainty.probability <= 1.0
    names = [CheckName.TOKEN_MIN, CheckName.TOKEN_MEAN] if tokens else []
    names += [CheckName.JUDGE] if signals.judgement is not None else []
    assert [check.name for check in certainty.checks] == names
    assert all(check.passed == (not check.detail) for check in certainty.checks)


@given(TOKENS, st.integers(0, 7), PROBABILITIES, PROBABILITIES, PROBABILITIES)
def test_higher_token_probability_never_lowers_the_answers(
    tokens: tuple[float, ...], place: int, raised: float, least: float, mean: float
) -> None:
    place %= len(tokens)
    surer = (*tokens[:place], max(raised, tokens[place]), *tokens[place + 1 :])
    before, after = (certain(ModelSignals(each, least, mean)) for each in (tokens, surer))
    assert after.probability >= before.probability
    assert after.accepted or not before.accepted


@given(TOKENS, st.tuples(PROBABILITIES, PROBABILITIES), PROBABILITIES)
def test_a_higher_threshold_never_makes_the_answer_more_probable(
    tokens: tuple[float, ...], thresholds: tuple[float, float], other: float
) -> None:
    low, high = sorted(thresholds)
    for pair in ([(low, other), (high, other)], [(other, low), (other, high)]):
        lenient, strict = (certain(ModelSignals(tokens, *each)) for each in pair)
        assert strict.probability <= lenient.probability + 1e-12


def test_the_judge_alone_is_enough() -> None:
    refused = verify(WHITE_BOX, "It has 312 pages.", ModelSignals(judgement=0.3))
    assert (refused.refused, refused.probability, refused.by_evidence) == (True, pytest.approx(0.3), None)
    (judge,) = refused.checks
    assert judge.detail == "The judge finds the answer correct with probability 0.30, below 0.50."


@pytest.mark.parametrize("number", [math.nan, 1.0000001, -0.1, math.inf])
@pytest.mark.parametrize("name", ["token_probabilities", "token_min", "token_mean", "judgement"])
def test_model_signals_must_be_probabilities(name: str, number: float) -> None:
    signals: dict[str, Any] = {name: (0.5, number) if name == "token_probabilities" else number}
    with pytest.raises(ValueError, match=r"in 0\.\.1"):
        ModelSignals(**signals)


@pytest.mark.parametrize("tokens", [(0.99, 0.98), (0.2, 0.9), (0.6, 0.91)])
@pytest.mark.parametrize("judgement", [None, 0.1, 0.95])
@pytest.mark.parametrize("answer", ["It has 312 pages.", "It has 321 pages.", "…"])
def test_probability_is_the_minimum_of_evidence_and_models(
    tokens: tuple[float, ...], judgement: float | None, answer: str
) -> None:
    signals = ModelSignals(tokens, 0.6, 0.9, judgement)
    alone = verify(BUILTIN, answer, NO_SIGNALS)
    both = verify(BUILTIN, answer, signals)
    assert both.by_evidence == alone.by_evidence == alone.probability
    assert both.probability == min(alone.probability, certain(signals).probability)
