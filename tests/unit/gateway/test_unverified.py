"""Answers that nobody could check, or that were kept when time ran out."""

from dataclasses import replace
from typing import Any

import pytest

from chassis.errors import DeadlineExceeded
from chassis.resilience.deadlines import Deadline
from contracts import headers
from contracts.answer import Answer, CitationKind, Reason, Route, Verification
from contracts.verifier import CheckName
from gateway.planning.run import Run
from gateway.state import Context, Evidence, Query, Quote, Reply, Unverified, Verdict
from gateway.steps.conclusion import CAUTION, REFUSALS, Outcome, conclude, refusal
from gateway.steps.verification import verify
from gateway.thresholds import load_thresholds
from tests.unit.gateway.executions import answer_of, execution_of
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.pipelines import clients_of
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.platform import gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner
from tests.unit.gateway.test_verification import Judge

pytestmark = pytest.mark.anyio

THRESHOLDS = load_thresholds()
LEAST = min(THRESHOLDS.supported, THRESHOLDS.judged)
CONTEXT = Context(Route.RAG, evidence=(Evidence("A fact.", "", "", CitationKind.PAGE),))
AWAY = {"unverified": Unverified.SAY}


async def ask(verifier: Mood = Mood.WORKS, **settings: Any) -> Answer:
    services = FakeServices()
    services.verifier.mood = verifier
    async with gateway_before(services, ScriptedReasoner(), **settings) as world:
        return await world.ask("How many pages has The Salt Road?", photo=None)


async def test_an_unchecked_answer_says_so_and_is_less_confident() -> None:
    checked = await ask(**AWAY)
    answer = await ask(Mood.CRASHES, **AWAY)
    assert checked.verification is Verification.VERIFIED
    assert answer.verification is Verification.UNVERIFIED
    assert answer.answer == f"{checked.answer} {CAUTION}"
    assert 0 < answer.confidence <= LEAST < checked.confidence


def test_unverified_answer_must_cite() -> None:
    unquoted, unverified = Reply("A fact.", 0.9), Verdict(LEAST, None, Verification.UNVERIFIED)
    outcome = conclude("What?", unquoted, unverified, CONTEXT, None, {}, THRESHOLDS, True)
    assert (outcome.reason, outcome.refused_by) == (Reason.UNSUPPORTED, "citation")
    verified = replace(unverified, verification=Verification.VERIFIED)
    assert (
        conclude("What?", unquoted, verified, CONTEXT, None, {}, THRESHOLDS, True).reason is Reason.ANSWERED
    )


async def test_cut_chat_answer_keeps_the_caution_and_the_history_drops_it() -> None:
    services, question = FakeServices(), "How many pages has The Salt Road?"
    services.verifier.mood = Mood.CRASHES
    async with gateway_before(services, ScriptedReasoner(), **AWAY) as world:
        body = {"model": "loreglass", "messages": [{"role": "user", "content": question}], "max_tokens": 1}
        chat = (await world.client.post("/v1/chat/completions", json=body)).json()
        first = await world.ask()
        await world.ask("How many pages has it?", photo=None, session_id=first.session_id)
    assert chat["choices"][0]["message"]["content"] == f"The {CAUTION}"
    (turn,) = world.reasoner.queries[-1].history
    assert turn.answer == first.answer.removesuffix(f" {CAUTION}")


@pytest.mark.parametrize("settings", [{}, AWAY], ids=["refused", "said"])
async def test_an_unchecked_answer_is_not_replayed_for_its_idempotency_key(settings: dict[str, Any]) -> None:
    services, question = FakeServices(), {"question": "How many pages has The Salt Road?"}
    async with gateway_before(services, ScriptedReasoner(), **settings) as world:
        replies = []
        for mood in (Mood.CRASHES, Mood.WORKS):
            services.verifier.mood = mood
            sent = await world.client.post("/answer", json=question, headers={headers.IDEMPOTENCY_KEY: "k"})
            replies.append(Answer.model_validate(sent.json()))
    unchecked, checked = replies
    assert unchecked.verification is not Verification.VERIFIED
    assert checked.verification is Verification.VERIFIED


TEA = Outcome("Tea.", Reason.ANSWERED, 0.6, Route.RAG, verification=Verification.VERIFIED)
QUOTED = Reply("A fact.", 0.9, (Quote(0, "A fact."),))


class OutOfTime:
    """A pipeline that keeps outcomes, and then its time is over."""

    name = "loreglass"
    stage_graph = LOREGLASS

    def __init__(self, *outcomes: Outcome) -> None:
        self._outcomes = outcomes

    async def answer(self, ask: Query, run: Run) -> Outcome:
        for outcome in self._outcomes:
            run.keep(outcome)
        raise DeadlineExceeded


async def answer_in_hand(unverified: Unverified, *outcomes: Outcome) -> Answer:
    return await answer_of(execution_of(OutOfTime(*outcomes), unverified=unverified))


async def test_answer_in_hand_follows_the_unverified_setting() -> None:
    answer = await answer_in_hand(Unverified.SAY, TEA)
    assert (answer.answer, answer.reason) == (f"Tea. {CAUTION}", Reason.ANSWERED)
    assert answer.verification is Verification.UNVERIFIED
    refused = await answer_in_hand(Unverified.REFUSE, TEA)
    assert (refused.answer, refused.reason) == (REFUSALS[Reason.UNSUPPORTED], Reason.UNSUPPORTED)


@pytest.mark.parametrize("unverified", list(Unverified))
async def test_refusal_in_hand_keeps_its_reason(unverified: Unverified) -> None:
    answer = await answer_in_hand(unverified, refusal(Reason.UNSUPPORTED, Route.RAG))
    assert answer.reason is Reason.UNSUPPORTED
    assert (await answer_in_hand(unverified)).reason is Reason.TIMED_OUT


@pytest.mark.parametrize(
    ("tokens", "reason", "refused_by"),
    [
        (None, Reason.ANSWERED, None),
        ((0.99, 0.95), Reason.ANSWERED, None),
        ((0.99, 0.0), Reason.UNSUPPORTED, CheckName.TOKEN_MIN.value),
    ],
)
async def test_answer_in_hand_is_unverified(
    tokens: tuple[float, ...] | None, reason: Reason, refused_by: str | None
) -> None:
    run = Run("t", Deadline.after_ms(20_000))
    reply = Reply(QUOTED.answer, QUOTED.confidence, QUOTED.quotes, token_probabilities=tokens)
    async with clients_of(FakeServices()) as clients:
        await verify(clients, Judge(0.9), Query("What?", None), reply, CONTEXT, run, THRESHOLDS)
    assert isinstance(run.in_hand, Outcome)
    assert (run.in_hand.reason, run.in_hand.refused_by) == (reason, refused_by)
    if reason is Reason.ANSWERED:
        assert run.in_hand.verification is Verification.UNVERIFIED
        assert run.in_hand.confidence <= min(THRESHOLDS.supported, THRESHOLDS.judged)
