"""The verifier's decision by token probabilities and judgement."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.verifier import CheckName
from services.verifier.engine import NO_SIGNALS, ModelSignals, Verdict
from services.verifier.engines.builtin import BuiltinVerifier
from services.verifier.engines.certainty import Certainty, WhiteBoxVerifier, certainty_of

BUILTIN = BuiltinVerifier()
WHITE_BOX = WhiteBoxVerifier(BUILTIN)
EVIDENCE = ["The Salt Road is a novel by Mira Holm. It has 312 pages."]
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
    return engine.verify("How many pages?", answer, EVIDENCE, "The Salt Road", signals)


@given(any_signals())
def test_every_signal_must_reach_its_threshold(signals: ModelSignals) -> None:
    tokens = signals.token_probabilities
    mean = math.fsum(tokens) / len(tokens) if tokens else 1.0
    sure = not tokens or (min(tokens) >= signals.token_min and max(mean, min(tokens)) >= signals.token_mean)
    judged = signals.judgement is None or signals.judgement >= 0.5
    certainty = certain(signals)
    assert certainty.accepted == (sure and judged)
    assert (certainty.probability >= 0.5) == certainty.accepted
    assert 0.0 <= certainty.probability <= 1.0


@given(TOKENS, st.integers(0, 7), PROBABILITIES, PROBABILITIES, PROBABILITIES)
def test_a_surer_token_never_makes_the_answer_less_probable(
    tokens: tuple[float, ...], place: int, raised: float, least: float, mean: float
) -> None:
    place %= len(tokens)
    surer = (*tokens[:place], max(raised, tokens[place]), *tokens[place + 1 :])
    before, after = (certain(ModelSignals(each, least, mean)) for each in (tokens, surer))
    assert after.probability >= before.probability
    assert after.accepted or not before.accepted


@given(TOKENS, st.tuples(PROBABILITIES, PROBABILITIES))
def test_a_kinder_judge_never_makes_the_answer_less_probable(
    tokens: tuple[float, ...], judgements: tuple[float, float]
) -> None:
    low, high = sorted(judgements)
    before, after = (certain(ModelSignals(tokens, judgement=each)) for each in (low, high))
    assert after.probability >= before.probability


@given(TOKENS, st.tuples(PROBABILITIES, PROBABILITIES), PROBABILITIES)
def test_a_higher_threshold_never_makes_the_answer_more_probable(
    tokens: tuple[float, ...], thresholds: tuple[float, float], other: float
) -> None:
    low, high = sorted(thresholds)
    for pair in ([(low, other), (high, other)], [(other, low), (other, high)]):
        lenient, strict = (certain(ModelSignals(tokens, *each)) for each in pair)
        assert strict.probability <= lenient.probability + 1e-12


@given(any_signals())
def test_each_signal_has_a_check_and_each_refusal_a_sentence(signals: ModelSignals) -> None:
    names = [CheckName.TOKEN_MIN, CheckName.TOKEN_MEAN] if signals.token_probabilities else []
    names += [CheckName.JUDGE] if signals.judgement is not None else []
    checks = certain(signals).checks
    assert [check.name for check in checks] == names
    assert all(check.passed == (not check.detail) for check in checks)


@given(any_signals(), st.sampled_from(["It has 312 pages.", "It has 321 pages."]))
def test_signals_can_only_lower_what_the_pocket_engine_finds(signals: ModelSignals, answer: str) -> None:
    alone, informed = verify(BUILTIN, answer, NO_SIGNALS), verify(BUILTIN, answer, signals)
    assert informed.probability <= alone.probability
    assert informed.refused == (not certain(signals).accepted)
    assert informed.checks[: len(alone.checks)] == alone.checks


def test_one_token_is_its_own_minimum_and_mean() -> None:
    sentences = [check.detail for check in certain(ModelSignals((0.41,))).checks]
    assert sentences == [
        "The least certain token has probability 0.41, below 0.60.",
        "The tokens have a mean probability of 0.41, below 0.90.",
    ]


def test_the_papers_thresholds_are_reached_from_the_threshold_on() -> None:
    assert certain(ModelSignals((0.60, 1.0, 1.0, 1.0))).accepted
    assert not certain(ModelSignals((0.5999999, 1.0, 1.0, 1.0))).accepted
    assert certain(ModelSignals((0.9, 0.9, 0.9))).accepted


def test_close_numbers_get_more_digits() -> None:
    (least, _) = certain(ModelSignals((0.5996, 1.0, 1.0, 1.0))).checks
    assert least.detail == "The least certain token has probability 0.5996, below 0.6000."


def test_the_judge_alone_is_enough() -> None:
    refused = verify(WHITE_BOX, "It has 312 pages.", ModelSignals(judgement=0.3))
    assert refused.refused
    assert refused.probability == pytest.approx(0.3)
    (judge,) = refused.checks
    assert judge.detail == "The judge finds the answer correct with probability 0.30, below 0.50."


def test_without_signals_the_white_box_judges_as_the_pocket_engine() -> None:
    for answer in ("It has 312 pages.", "It has 321 pages."):
        assert verify(WHITE_BOX, answer, NO_SIGNALS) == verify(BUILTIN, answer, NO_SIGNALS)


@pytest.mark.parametrize("tokens", [(math.nan,), (0.5, math.nan), (1.0000001,), (-0.1,), (math.inf,)])
def test_what_is_no_probability_is_no_signal(tokens: Sequence[float]) -> None:
    with pytest.raises(ValueError, match=r"in 0\.\.1"):
        ModelSignals(tuple(tokens))


@pytest.mark.parametrize("number", [math.nan, 1.5, -0.5])
def test_thresholds_and_judgement_are_probabilities_too(number: float) -> None:
    for signals in ({"token_min": number}, {"token_mean": number}, {"judgement": number}):
        with pytest.raises(ValueError, match=r"in 0\.\.1"):
            ModelSignals((0.9,), **signals)
