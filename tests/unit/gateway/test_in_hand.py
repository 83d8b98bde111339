"""Time ends while a pipeline has kept an answer: the operator decides whether it is given."""

import pytest

from chassis.errors import DeadlineExceeded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, CitationKind, Reason, Route, Verification
from contracts.verifier import CheckName
from gateway.planning.run import Run
from gateway.state import Context, Evidence, Query, Quote, Reply, Unverified
from gateway.steps.conclusion import CAUTION, REFUSALS, Outcome, refusal
from gateway.steps.verification import verify
from gateway.thresholds import load_thresholds
from tests.unit.gateway.executions import answer_of, execution_of
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.stepwise import clients_of
from tests.unit.gateway.test_verification import Judge

pytestmark = pytest.mark.anyio

TEA = Outcome("Tea.", Reason.ANSWERED, 0.6, Route.RAG, verification=Verification.VERIFIED)
CONTEXT = Context(Route.RAG, evidence=(Evidence("A fact.", "", "", CitationKind.PAGE),))
QUOTED = Reply("A fact.", 0.9, (Quote(0, "A fact."),))
THRESHOLDS = load_thresholds()


class OutOfTime:
    """A pipeline that keeps outcomes, and then its time is over."""

    name = "loreglass"
    stage_graph = LOREGLASS

    def __init__(self, *kept: Outcome) -> None:
        self._kept = kept

    async def answer(self, ask: Query, run: Run) -> Outcome:
        for outcome in self._kept:
            run.keep(outcome)
        raise DeadlineExceeded


async def asked(unverified: Unverified, *kept: Outcome) -> Answer:
    return await answer_of(execution_of(OutOfTime(*kept), unverified=unverified))


async def test_kept_answer_is_given_with_a_caution_or_refused_as_the_operator_says() -> None:
    answer = await asked(Unverified.SAY, TEA)
    assert (answer.answer, answer.reason) == (f"Tea. {CAUTION}", Reason.ANSWERED)
    assert answer.verification is Verification.UNVERIFIED
    refused = await asked(Unverified.REFUSE, TEA)
    assert (refused.answer, refused.reason) == (REFUSALS[Reason.UNSUPPORTED], Reason.UNSUPPORTED)


@pytest.mark.parametrize("unverified", list(Unverified))
async def test_kept_refusal_keeps_its_reason_and_without_one_time_has_run_out(unverified: Unverified) -> None:
    kept = await asked(unverified, refusal(Reason.UNSUPPORTED, Route.RAG))
    assert kept.reason is Reason.UNSUPPORTED
    assert (await asked(unverified)).reason is Reason.TIMED_OUT


async def test_outcome_kept_last_counts() -> None:
    answer = await asked(Unverified.SAY, refusal(Reason.MODEL_UNSURE, Route.RAG), TEA)
    assert answer.reason is Reason.ANSWERED


@pytest.mark.parametrize(
    ("tokens", "reason", "refused_by"),
    [
        (None, Reason.ANSWERED, None),
        ((0.99, 0.95), Reason.ANSWERED, None),
        ((0.99, 0.0), Reason.UNSUPPORTED, CheckName.TOKEN_MIN.value),
    ],
)
async def test_answer_is_kept_before_it_is_checked_and_is_no_surer_than_a_checked_one(
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
