"""From an explanation and any thresholds it can be recomputed whether the answer is given."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast

import pytest

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Explanation, Reason, Route
from contracts.verifier import Check, VerifyReply
from gateway.clients.services import Services, WhiteBox
from gateway.planning.explaining import Explaining
from gateway.planning.run import Run
from gateway.state import Context, Evidence, GenerationBudget, Query, Quote, Reply
from gateway.steps.answering import answer_from
from gateway.steps.conclusion import conclude
from gateway.steps.verification import verify
from gateway.thresholds import Thresholds, load_thresholds
from services.verifier.engine import ModelSignals
from services.verifier.engines.certainty import certainty_of
from tests.unit.gateway.reasoners import lookup_draft

pytestmark = pytest.mark.anyio

CASES = 400
LIMITS = (0.0, 0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0)
TUNED = ("answer_confidence", "supported", "borderline", "judged", "token_min", "token_mean")
CONTEXT = Context(Route.RAG, evidence=(Evidence("A fact.", "", "", CitationKind.PAGE, 0.8),))
ASK = Query("What is it?", None)


@dataclass(frozen=True)
class Case:
    """What the models and the verifier would say of one question, whatever the thresholds are."""

    reply: Reply
    lexical: float | None
    judgement: float | None
    judge_works: bool
    verifier_works: bool
    has_judge: bool
    judge_first: bool
    verdict_suffices: bool

    async def answer(self, *_: object) -> Reply:
        return self.reply

    async def judge(
        self, ask: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> float | None:
        if not self.judge_works:
            raise DependencyUnavailable("The judge is out.")
        return self.judgement

    async def verify(self, *arguments: Any) -> VerifyReply:
        """As either of the verifier's engines does it; `lexical` None: the one that believes models."""
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
    tokens = tuple(random.choice((0.3, 0.55, 0.65, 0.85, 0.93, 0.99)) for _ in range(random.randint(1, 5)))
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
        judgement=random.random() if random.random() < 0.8 else None,
        judge_works=random.random() < 0.8,
        verifier_works=random.random() < 0.8,
        has_judge=random.random() < 0.7,
        judge_first=random.random() < 0.4,
        verdict_suffices=random.random() < 0.3,
    )


def thresholds_of(random: Random) -> Thresholds:
    values = {name: random.choices(LIMITS, (4, 4, 4, 3, 3, 2, 1, 1))[0] for name in TUNED}
    values["borderline"] = max(values["borderline"], values["supported"])
    return load_thresholds().with_overrides(values)


async def asked(case: Case, thresholds: Thresholds) -> tuple[bool, Explanation]:
    """Whether the answer was given, and the explanation."""
    run = Run("trace", Deadline.after_ms(600_000), explain=Explaining())
    draft = lookup_draft()
    reply, judge = await answer_from(case, None, ASK, draft, CONTEXT, run)
    services = cast(Services, case)
    asked_judge, first = judge if case.has_judge else None, case.judge_first and case.has_judge
    verdict = await verify(services, asked_judge, ASK, reply, CONTEXT, run, thresholds, judge_first=first)
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


def bent(score: float, threshold: float) -> float:
    return 0.5 + 0.5 * ((score - threshold) / (1 - threshold)) if threshold < 1 else 1.0


def replayed(told: Explanation, limit: Mapping[str, float]) -> bool | None:
    """Whether `proposed` is given under the thresholds `limit`; None where that asks for an unheard judge."""
    signals, first = told.signals, bool(told.signals.get("judge_first"))
    if told.proposed is None or not signals["citable"]:
        return False
    held = ["answer_confidence", "token_min", "token_mean", *(["judged"] if first else [])]
    if any(signals[name] < limit[name] for name in held if name in signals):
        return False
    probability = signals.get("token_mean", 1.0)
    if "support" in signals:
        tokens = [name for name in ("token_min", "token_mean") if name in signals]
        parts = [bent(signals[name], limit[name]) for name in tokens]
        others = ["evidence_support", *(["judged"] if first else [])]
        parts += [signals[name] for name in others if name in signals]
        same = all(limit[name] == told.thresholds[name] for name in tokens)
        probability = signals["support"] if same else min(parts)
        if probability < limit["supported"]:
            return False
    unverified = "support" not in signals and "token_min" not in signals
    if first or unverified or probability >= limit["borderline"]:
        return True
    if "judged" in signals:
        return signals["judged"] >= limit["judged"]
    return None if signals.get("judge_asked") == 0 else True


async def test_what_was_done_is_recomputed_exactly(anyio_backend: object) -> None:
    random, given = Random(6), 0
    for _ in range(CASES):
        case, thresholds = drawn(random), thresholds_of(random)
        done, told = await asked(case, thresholds)
        again = replayed(told, told.thresholds)
        assert again is done, (case, thresholds)
        given += done
    assert 0.1 * CASES < given < 0.9 * CASES


async def test_what_would_be_done_under_other_thresholds_is_what_is_done_under_them(
    anyio_backend: object,
) -> None:
    random, changed, known = Random(7), 0, 0
    for _ in range(CASES):
        case, before, after = drawn(random), thresholds_of(random), thresholds_of(random)
        done, told = await asked(case, before)
        otherwise, retold = await asked(case, after)
        guess = replayed(told, retold.thresholds)
        assert guess in (otherwise, None), (case, before, after)
        known += guess is not None
        changed += guess is not None and guess is not done
    assert known > 0.8 * CASES
    assert changed > 0.1 * CASES


async def test_a_judge_that_was_not_asked_is_said_not_to_have_been(anyio_backend: object) -> None:
    sure = Case(Reply("A fact.", 0.9, (Quote(0, "A fact."),)), 0.95, 0.9, True, True, True, False, False)
    _, told = await asked(sure, load_thresholds())
    assert told.signals["judge_asked"] == 0
    assert "judged" not in told.signals
    _, told = await asked(replace(sure, lexical=0.65), load_thresholds())
    assert (told.signals["judge_asked"], told.signals["judged"]) == (1, 0.9)
    _, told = await asked(replace(sure, lexical=0.65, judgement=None), load_thresholds())
    assert told.signals["judge_asked"] == 1
    assert "judged" not in told.signals
