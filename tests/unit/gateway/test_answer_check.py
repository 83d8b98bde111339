"""The check of an answer that a model wrote: independent measures, weighed together."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Route, Verification
from contracts.verifier import VerifyReply
from gateway.planning.explaining import Explaining
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, Evidence, Found, Query, Quote, Reply, Verdict
from gateway.steps.answer_check import FEATURES, Weights, agreement, check_answer
from gateway.thresholds import load_thresholds

pytestmark = pytest.mark.anyio

THRESHOLDS = load_thresholds()
EVIDENCE = Evidence("The tower is 111 m tall.", "Tower", "https://t.example", CitationKind.PAGE)
QUERY = Query("How tall is the tower?", None)
REPLY = Reply(
    "It is 111 m tall.", 0.9, (Quote(0, EVIDENCE.text),), token_probabilities=(0.9, 0.8), generated=True
)
SURE = {"token_min": 0.8, "reader_best": 0.8, "reader_agrees": 0.8, "evidence_support": 0.9}
DOUBTFUL = {
    "model_yes": 0.4,
    "token_min": 0.2,
    "reader_best": 0.1,
    "reader_agrees": 0.0,
    "evidence_support": 0.1,
}


def found(span: str, probability: float) -> Found:
    return Found(0, span, EVIDENCE.text, span, probability, 0, len(span))


class Services:
    """A reader and a verifier that say what they are told to say."""

    def __init__(self, span: str = "111 m", read: float = 0.8, support: float = 0.9) -> None:
        self._found = [found(span, read)]
        self._support = support

    async def read(self, *_: Any) -> Sequence[Found]:
        return self._found

    async def verify(self, *_: Any) -> VerifyReply:
        return VerifyReply(supported=True, probability=self._support, checks=[])


class Away:
    """Services that do not answer."""

    async def read(self, *_: Any) -> Sequence[Found]:
        raise DependencyUnavailable("reader is away.")

    async def verify(self, *_: Any) -> VerifyReply:
        raise DependencyUnavailable("verifier is away.")


async def verdict_of(services: Any, reply: Reply = REPLY) -> tuple[Verdict, Mapping[str, float]]:
    run = Run("a" * 32, Deadline.after_ms(5_000), explain=Explaining())
    context = Context(Route.RAG, evidence=(EVIDENCE,))
    verdict = await check_answer(services, QUERY, reply, context, run, THRESHOLDS)
    assert verdict is not None
    return verdict, run.explain.to_explanation(THRESHOLDS, ()).signals  # type: ignore[union-attr]


@pytest.mark.parametrize("name", FEATURES)
def test_no_measure_speaks_against_an_answer_when_it_rises(name: str) -> None:
    low, high = ({**SURE, name: value} for value in (0.1, 0.9))
    weights = Weights.load()
    assert weights.probability(low) <= weights.probability(high)


def test_what_all_measures_agree_on_is_given_or_refused() -> None:
    weights = Weights.load()
    assert weights.probability(SURE) > 0.8
    assert weights.probability(DOUBTFUL) < THRESHOLDS.judged


def test_with_nothing_measured_the_answer_is_neither_certain_nor_hopeless() -> None:
    assert 0.2 < Weights.load().probability({}) < 0.9


@pytest.mark.parametrize(
    ("answer", "agrees"),
    [("It is 111 m tall.", 0.7), ("111 m", 0.7), ("It is 112 m tall.", 0.0), ("It is 1110 m tall.", 0.0)],
)
def test_the_reader_agrees_with_whole_words_only(answer: str, agrees: float) -> None:
    measured = agreement(answer, [found("366 ft", 0.2), found("111 m", 0.7)])
    assert measured == {"reader_best": 0.7, "reader_agrees": agrees}


async def test_an_answer_that_the_services_bear_out_stands_and_says_what_was_measured() -> None:
    verdict, signals = await verdict_of(Services())
    assert verdict.refusal is None
    assert verdict.verification is Verification.VERIFIED
    assert set(FEATURES) < set(signals)
    assert signals["judged"] == verdict.probability


async def test_an_answer_that_nothing_bears_out_is_refused() -> None:
    verdict, _ = await verdict_of(Services("a bridge", 0.05, 0.05))
    assert verdict.refusal == "judge"


async def test_without_token_probabilities_the_services_decide() -> None:
    verdict, signals = await verdict_of(Services(), Reply("It is 111 m tall.", None, generated=True))
    assert "token_min" not in signals
    assert verdict.refusal is None


async def test_while_the_services_are_away_the_answer_is_unverified() -> None:
    verdict, signals = await verdict_of(Away())
    assert verdict.verification is Verification.UNVERIFIED
    assert verdict.probability <= min(THRESHOLDS.supported, THRESHOLDS.judged)
    assert "reader_best" not in signals


async def test_nothing_is_checked_without_an_answer() -> None:
    run, services, context = Run("a" * 32, Deadline.after_ms(5_000)), Away(), Context(Route.RAG)
    assert await check_answer(services, QUERY, Reply(None, None), context, run, THRESHOLDS) is None  # type: ignore[arg-type]
    assert Stage.VERIFIER.value not in run.timings_ms
