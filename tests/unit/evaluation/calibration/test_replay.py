"""Replay a run under other thresholds, with the decisions of the gateway."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import cast

import numpy as np

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Reason, Route
from contracts.verifier import Check, VerifyReply, VerifyRequest
from evaluation.calibration.replay import ANSWER, Cutoffs, Signals, replay, signals_of
from evaluation.judging import verdicts
from evaluation.record import TurnRecord
from gateway.clients.services import Services
from gateway.planning.explaining import Explaining
from gateway.planning.run import Run
from gateway.state import Context, Evidence, GenerationBudget, Judgement, Query, Quote, Reply
from gateway.steps.answering import answer_from
from gateway.steps.conclusion import conclude
from gateway.steps.verification import verify
from gateway.thresholds import Thresholds, load_thresholds
from loreglass_client.models import Explanation
from services.verifier.engine import ModelSignals
from services.verifier.engines.certainty import certainty_of
from tests.unit.evaluation import generated_runs
from tests.unit.evaluation.calibration.generated_signals import OPEN, generated
from tests.unit.evaluation.records import answered, turn_of
from tests.unit.gateway.reasoners import lookup_draft

LIMITS = (0.0, 0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0)
CONTEXT = Context(Route.RAG, evidence=(Evidence("A fact.", "", "", CitationKind.PAGE, 0.8),))
ASK = Query("What is it?", None)


@dataclass(frozen=True)
class Case:
    """Return fixed replies of the models and the verifier, whatever the thresholds are."""

    reply: Reply
    by_evidence: float | None
    judgement: Judgement
    judge_works: bool
    verifier_works: bool
    has_judge: bool
    verdict_suffices: bool

    async def answer(self, *_: object) -> Reply:
        return self.reply

    async def judge(
        self, ask: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Judgement:
        if not self.judge_works:
            raise DependencyUnavailable("The judge is out.")
        return self.judgement

    async def verify(self, request: VerifyRequest, deadline: Deadline) -> VerifyReply:
        """Verify like either engine of the verifier. `by_evidence` None: the one that uses token signals."""
        if not self.verifier_works:
            raise DependencyUnavailable("The verifier is out.")
        signals = ModelSignals(
            tuple(request.token_probabilities),
            request.token_min,
            request.token_mean,
            request.model_judgement,
        )
        certainty, by_evidence = certainty_of(signals), self.by_evidence
        if certainty is None:
            by_evidence = 0.7 if by_evidence is None else by_evidence
            return VerifyReply(
                supported=True, probability=by_evidence, evidence_probability=by_evidence, checks=[]
            )
        parts = [certainty.probability, *([] if by_evidence is None else [by_evidence])]
        checks = [Check(name=each.name, passed=each.passed) for each in certainty.checks]
        return VerifyReply(
            supported=True, probability=min(parts), evidence_probability=by_evidence, checks=checks
        )


def drawn(random: Random) -> Case:
    tokens, judged = (
        tuple(random.choice((0.3, 0.55, 0.65, 0.85, 0.93, 0.99)) for _ in range(random.randint(1, 5)))
        for _ in range(2)
    )
    quotes = (Quote(0, "A fact."),) if random.random() < 0.8 else (Quote(0, "Not there."),)
    reply = Reply(
        random.choice(("A fact.",) * 9 + (" ", None)),
        random.choice(LIMITS[2:]),
        quotes,
        token_probabilities=tokens if random.random() < 0.6 else None,
    )
    return Case(
        reply,
        by_evidence=random.random() if random.random() < 0.7 else None,
        judgement=Judgement(
            random.random() if random.random() < 0.8 else None, judged if random.random() < 0.6 else None
        ),
        judge_works=random.random() < 0.8,
        verifier_works=random.random() < 0.8,
        has_judge=random.random() < 0.7,
        verdict_suffices=random.random() < 0.3,
    )


def thresholds_of(random: Random) -> Thresholds:
    values = {name: random.choices(LIMITS, (4, 4, 4, 3, 3, 2, 1, 1))[0] for name in ANSWER}
    return load_thresholds().with_overrides(values)


async def ask(case: Case, thresholds: Thresholds) -> tuple[bool, Explanation]:
    """Return whether the answer was given, and the explanation."""
    run = Run("trace", Deadline.after_ms(600_000), explain=Explaining())
    draft = lookup_draft()
    reply = await answer_from(case, None, ASK, draft, CONTEXT, run)
    services, judge = cast(Services, case), case.judge if case.has_judge else None
    verdict = await verify(services, judge, ASK, reply, CONTEXT, run, thresholds)
    outcome = conclude(
        ASK.question,
        reply,
        verdict,
        CONTEXT,
        None,
        {},
        thresholds,
        case.verdict_suffices,
        explain=run.explain,
    )
    explanation = run.explain.to_explanation(thresholds)
    assert explanation is not None
    return outcome.reason is Reason.ANSWERED, explanation


def test_draft_is_answered_above_both_router_thresholds() -> None:
    signals = replace(
        generated(np.random.default_rng(2), 4, tokens=False),
        proposed=np.full(4, -1.0),
        citable=np.ones(4, bool),
        answer_confidence=np.ones(4),
        draft=np.ones(4),
        draft_confidence=np.array([0.8, 0.79, 0.9, np.nan]),
        p_direct=np.array([0.5, 0.9, 0.49, np.nan]),
    )
    replayed = replay(signals, replace(OPEN, direct_confidence=0.8, direct_from=0.5))
    assert list(replayed) == [1.0, -1.0, -1.0, -1.0]
    given_at_once = replace(signals, went_direct=np.arange(4) == 2)
    assert list(replay(given_at_once, replace(OPEN, direct_from=1.0))) == [-1.0, -1.0, 1.0, -1.0]


CASES = 75
RIGHT = verdicts.Judgement(verdicts.Verdict.CORRECT, "")


def recorded(given: bool, explanation: Explanation) -> TurnRecord:
    crossed = Explanation.model_validate_json(explanation.model_dump_json())
    return turn_of("question", answered(explanation.proposed or "" if given else None, explanation=crossed))


def arrays(given: bool, explanation: Explanation) -> Signals:
    judged = {} if explanation.proposed is None else {"question": RIGHT}
    return signals_of([recorded(given, explanation)], judged, {}, Cutoffs.among(explanation.thresholds))


async def test_replay_equals_the_gateway(anyio_backend: object) -> None:
    random, changed = Random(11), 0
    for _ in range(CASES):
        case, before, after = drawn(random), thresholds_of(random), thresholds_of(random)
        done, explanation = await ask(case, before)
        otherwise, retold = await ask(case, after)
        signals = arrays(done, explanation)
        assert replay(signals, signals.in_force)[0] == done
        replayed = replay(signals, Cutoffs.among(retold.thresholds))
        assert replayed[0] == otherwise, (case, before, after)
        changed += bool(otherwise != done)
    assert changed > 0.1 * CASES


async def test_a_failed_request_has_no_answer_under_any_thresholds(anyio_backend: object) -> None:
    explanation = Explanation(
        proposed="It is 3.",
        signals={"citable": 1.0},
        thresholds={**generated_runs.THRESHOLDS, **generated_runs.OPEN},
    )
    failed = recorded(True, explanation).model_copy(update={"answer": None, "error": "overloaded"})
    signals = signals_of([failed], {}, {}, Cutoffs.among(explanation.thresholds))
    assert np.all(replay(signals, signals.in_force) == 0.0)
