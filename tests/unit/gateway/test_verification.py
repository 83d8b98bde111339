"""The dual verifier: which check refused, and answers that were not checked or kept when time ran out."""

from dataclasses import dataclass, field, replace

import pytest

from chassis.errors import DeadlineExceeded
from chassis.resilience.deadlines import Deadline
from contracts.answer import Answer, CitationKind, Reason, Route, Verification
from contracts.verifier import Check, CheckName, VerifyReply, VerifyRequest
from gateway.planning.plan import FULL, Plan
from gateway.planning.planner import FixedPlan
from gateway.planning.run import Run
from gateway.state import Context, Evidence, Judgement, Query, Quote, Reply, Unverified, Verdict
from gateway.steps.conclusion import CAUTION, REFUSALS, Outcome, conclude, refusal
from gateway.steps.verification import verify
from gateway.thresholds import load_thresholds
from tests.unit.gateway.executions import answer_of, execution_of
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.pipelines import clients_of
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.platform import ask_gateway, gateway_before
from tests.unit.gateway.reasoners import ScriptedReasoner, quote_best

SURE = (0.99, 0.95)
CONTEXT = Context(Route.RAG, evidence=(Evidence("A fact.", "", "", CitationKind.PAGE),))
QUOTED = Reply("A fact.", 0.9, (Quote(0, "A fact."),))
LEAST = min(load_thresholds().supported, load_thresholds().judged)
"""The confidence of an answer that was not checked."""


def checking(request: VerifyRequest) -> VerifyReply:
    """Compares as the verifier service does, and finds the evidence supportive."""
    tokens, judged = request.token_probabilities, request.model_judgement
    passed = {
        CheckName.TOKEN_MIN: not tokens or min(tokens) >= request.token_min,
        CheckName.TOKEN_MEAN: not tokens or sum(tokens) / len(tokens) >= request.token_mean,
        CheckName.JUDGE: judged is None or judged >= 0.5,
    }
    checks = [Check(name=name, passed=holds) for name, holds in passed.items()]
    return VerifyReply(supported=True, probability=0.95, checks=checks)


@dataclass
class Judge:
    """Says what it is told to, and counts."""

    judgement: float | Judgement | Exception | None = 0.9
    replies: list[Reply] = field(default_factory=list)

    async def __call__(self, ask: Query, reply: Reply, *_: object) -> Judgement:
        self.replies.append(reply)
        if isinstance(self.judgement, Exception):
            raise self.judgement
        return self.judgement if isinstance(self.judgement, Judgement) else Judgement(self.judgement)


async def verdict(
    services: FakeServices,
    judge: Judge | None,
    tokens: tuple[float, ...] | None = None,
    plan: Plan = FULL,
    **thresholds: float,
) -> Verdict:
    reply = replace(QUOTED, token_probabilities=tokens)
    async with clients_of(services) as clients:
        run = Run("t", Deadline.after_ms(20_000), planning=FixedPlan(plan))
        ask = Query("What?", None)
        in_force = load_thresholds().with_overrides(thresholds)
        verified = await verify(clients, judge, ask, reply, CONTEXT, run, in_force)
    assert verified is not None
    return verified


@pytest.fixture
def strict() -> FakeServices:
    """Services whose verifier looks at everything it is sent."""
    return FakeServices(verifier=checking)


@pytest.mark.parametrize(
    ("tokens", "refusal"),
    [((0.99, 0.2, 0.99), "token_min"), ((0.3, 0.6), "token_mean"), (SURE, None), (None, None), ((), None)],
)
@pytest.mark.parametrize("mood", [Mood.WORKS, Mood.CRASHES], ids=["by the service", "without it"])
async def test_failed_check_is_in_the_refusal(
    strict: FakeServices, tokens: tuple[float, ...] | None, refusal: str | None, mood: Mood
) -> None:
    strict.verifier.mood = mood
    outcome = await verdict(strict, None, tokens)
    assert outcome.refusal == refusal
    if mood is Mood.CRASHES and refusal is None:
        assert outcome.verification is Verification.UNVERIFIED
        assert outcome.probability <= LEAST
    judged = await verdict(strict, Judge(0.2), tokens if refusal is None else None)
    assert judged.refusal == "judge"


async def test_judgement_is_sent_to_the_verifier() -> None:
    services = FakeServices(verifier=VerifyReply(supported=True, probability=0.65, checks=[]))
    for judgement, verdict_of_both in ((0.9, Verdict(0.65)), (0.2, Verdict(0.65, "judge"))):
        assert await verdict(services, Judge(judgement)) == verdict_of_both
        assert services.verifier.calls[-1].model_judgement == judgement
    assert await verdict(services, Judge(None)) == Verdict(0.65)
    assert services.verifier.calls[-1].model_judgement is None
    services.verifier.reply = VerifyReply(supported=False, probability=0.1, checks=[])
    assert await verdict(services, None) == Verdict(0.1, "support")


@pytest.mark.parametrize("mood", [Mood.WORKS, Mood.CRASHES])
@pytest.mark.parametrize(
    ("thresholds", "refusal"),
    [
        ({}, None),
        ({"judge_token_min": 0.3}, "judge"),
        ({"judge_token_mean": 0.7}, "judge"),
        ({"judge_token_min": 0.2, "judge_token_mean": 0.5}, None),
    ],
)
async def test_uncertain_judge_refuses(
    strict: FakeServices, mood: Mood, thresholds: dict[str, float], refusal: str | None
) -> None:
    strict.verifier.mood = mood
    outcome = await verdict(strict, Judge(Judgement(0.9, (0.25, 0.99))), **thresholds)
    assert outcome.refusal == refusal


@pytest.mark.parametrize("tokens", [None, SURE])
@pytest.mark.parametrize("probability", [0.65, 0.95])
async def test_missing_judge_does_not_lower_the_probability(
    tokens: tuple[float, ...] | None, probability: float
) -> None:
    services = FakeServices(verifier=VerifyReply(supported=True, probability=probability, checks=[]))
    judge, gone = Judge(0.75), Judge(RuntimeError("gone"))
    judged = await verdict(services, judge, tokens)
    unjudged = await verdict(services, gone, tokens)
    left_out = await verdict(services, judge, tokens, plan=Plan(judge=False))
    assert (len(gone.replies), len(judge.replies)) == (1, 1)
    assert unjudged == Verdict(LEAST, None, Verification.UNVERIFIED)
    assert left_out == Verdict(LEAST, None, Verification.VERIFIED)
    assert judged.probability > LEAST


@pytest.mark.parametrize(
    ("reply", "result", "refused_by"),
    [
        (QUOTED, Verdict(0.2, "token_min"), "token_min"),
        (replace(QUOTED, confidence=0.1), None, "answer_confidence"),
        (replace(QUOTED, quotes=()), Verdict(0.9), "citation"),
        (QUOTED, Verdict(0.9), None),
        (Reply(None, 0.0), None, None),
    ],
)
def test_the_refusing_check_is_named(reply: Reply, result: Verdict | None, refused_by: str | None) -> None:
    assert conclude("What?", reply, result, CONTEXT, None, {}, load_thresholds()).refused_by == refused_by


@pytest.mark.parametrize(
    ("confidence", "result", "expected"),
    [
        (0.9, Verdict(0.8), pytest.approx(0.72)),
        (None, Verdict(0.8), 0.8),
        (0.9, None, 0.9),
        (None, None, None),
    ],
)
def test_confidence_is_the_product_of_measured_signals(
    confidence: float | None, result: Verdict | None, expected: float | None
) -> None:
    reply = replace(QUOTED, confidence=confidence)
    outcome = conclude("What?", reply, result, CONTEXT, None, {}, load_thresholds())
    assert (outcome.reason, outcome.confidence) == (Reason.ANSWERED, expected)


async def test_trace_names_the_refusing_check(services: FakeServices) -> None:
    services.verifier.reply = VerifyReply(supported=False, probability=0.1, checks=[])
    async with gateway_before(services, ScriptedReasoner()) as world:
        answer = await world.ask()
        trace = (await world.client.get(f"/traces/{answer.trace_id}")).json()
    assert answer.reason is Reason.UNSUPPORTED
    assert trace["refused_by"] == "support"


async def test_default_pipeline_verifies_by_evidence_only(strict: FakeServices) -> None:
    def written(ask: Query, context: Context) -> Reply:
        return replace(quote_best(ask, context), token_probabilities=(0.99, 0.2))

    answer = await ask_gateway(strict, ScriptedReasoner(say=written))
    assert answer.reason is Reason.ANSWERED
    assert answer.verification is Verification.VERIFIED


# Unchecked

AWAY = {"unverified": Unverified.SAY}


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


TEA = Outcome("Tea.", Reason.ANSWERED, 0.6, Route.RAG, verification=Verification.VERIFIED)


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


async def test_interim_answer_follows_the_unverified_setting() -> None:
    answer = await answer_in_hand(Unverified.SAY, TEA)
    assert (answer.answer, answer.reason) == (f"Tea. {CAUTION}", Reason.ANSWERED)
    assert answer.verification is Verification.UNVERIFIED
    refused = await answer_in_hand(Unverified.REFUSE, TEA)
    assert (refused.answer, refused.reason) == (REFUSALS[Reason.UNSUPPORTED], Reason.UNSUPPORTED)


@pytest.mark.parametrize("unverified", list(Unverified))
async def test_interim_refusal_keeps_its_reason(unverified: Unverified) -> None:
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
async def test_interim_answer_is_unverified(
    tokens: tuple[float, ...] | None, reason: Reason, refused_by: str | None
) -> None:
    run = Run("t", Deadline.after_ms(20_000))
    reply = Reply(QUOTED.answer, QUOTED.confidence, QUOTED.quotes, token_probabilities=tokens)
    async with clients_of(FakeServices()) as clients:
        await verify(clients, Judge(0.9), Query("What?", None), reply, CONTEXT, run, load_thresholds())
    assert isinstance(run.in_hand, Outcome)
    assert (run.in_hand.reason, run.in_hand.refused_by) == (reason, refused_by)
    if reason is Reason.ANSWERED:
        assert run.in_hand.verification is Verification.UNVERIFIED
        assert run.in_hand.confidence <= LEAST
