"""Random replies and verdicts of one question, and whether the gateway gives the answer."""

from dataclasses import dataclass
from random import Random
from typing import Any, cast

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Explanation, Reason, Route
from contracts.verifier import Check, VerifyReply
from evaluation.calibration.replay import ANSWER
from gateway.clients.services import Services, WhiteBox
from gateway.planning.explaining import Explaining
from gateway.planning.run import Run
from gateway.state import Context, Evidence, GenerationBudget, Judgement, Query, Quote, Reply
from gateway.steps.answering import answer_from
from gateway.steps.conclusion import conclude
from gateway.steps.verification import verify
from gateway.thresholds import Thresholds, load_thresholds
from services.verifier.engine import ModelSignals
from services.verifier.engines.certainty import certainty_of
from tests.unit.gateway.reasoners import lookup_draft

LIMITS = (0.0, 0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0)
TUNED = ANSWER
CONTEXT = Context(Route.RAG, evidence=(Evidence("A fact.", "", "", CitationKind.PAGE, 0.8),))
ASK = Query("What is it?", None)


@dataclass(frozen=True)
class Case:
    """Return fixed replies of the models and the verifier, whatever the thresholds are."""

    reply: Reply
    lexical: float | None
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

    async def verify(self, *arguments: Any) -> VerifyReply:
        """Verify like either engine of the verifier; `lexical` None: the engine that uses token signals."""
        if not self.verifier_works:
            raise DependencyUnavailable("The verifier is out.")
        box = cast(WhiteBox, arguments[-1])
        signals = ModelSignals(box.token_probabilities, box.token_min, box.token_mean, box.model_judgement)
        certainty, lexical = certainty_of(signals), self.lexical
        if certainty is None:
            lexical = 0.7 if lexical is None else lexical
            return VerifyReply(supported=True, probability=lexical, evidence_probability=lexical, checks=[])
        parts = [certainty.probability, *([] if lexical is None else [lexical])]
        checks = [Check(name=each.name, passed=each.passed) for each in certainty.checks]
        return VerifyReply(
            supported=True, probability=min(parts), evidence_probability=lexical, checks=checks
        )


def drawn(random: Random) -> Case:
    """Return a random case."""
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
        lexical=random.random() if random.random() < 0.7 else None,
        judgement=Judgement(
            random.random() if random.random() < 0.8 else None, judged if random.random() < 0.6 else None
        ),
        judge_works=random.random() < 0.8,
        verifier_works=random.random() < 0.8,
        has_judge=random.random() < 0.7,
        verdict_suffices=random.random() < 0.3,
    )


def thresholds_of(random: Random) -> Thresholds:
    """Return random thresholds."""
    values = {name: random.choices(LIMITS, (4, 4, 4, 3, 3, 2, 1, 1))[0] for name in TUNED}
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
