"""The dual verifier (QA-Dragon, 3.7.2): the answer's token probabilities, a model judge, and the evidence.

The judge is asked first, where the pipeline has one. The verifier service then compares tokens and judgement
with their thresholds, and reads the evidence itself where it has neither. When it is out, the comparisons are
made here, so that an answer which its own model doubts is refused all the same. What stands then counts as if
the verifier had only just let it pass: its probability is at most the lowest with which a checked answer
stands, so that no answer is surer for not having been checked, and it is `unverified`. Likewise where a judge
that should be asked fails. Where the plan leaves the judge out for want of time, what the verifier checked is
`verified`, and its probability is at most that lowest one too.

What is explained suffices to replay it. Signals, where they were measured: `token_min`, `token_mean` (s_min
and s_mean, over the tokens of the `answer` field alone, not of its reasons), `judged`, `judge_token_min` and
`judge_token_mean` (over all tokens that the judge wrote, which the released code takes in place of the
answer's), `support` (the verifier's probability), `evidence_support`
(the part of it that comes from the evidence). With thresholds T, an answer is refused if

1. `token_min` < T.token_min, or `token_mean` < T.token_mean;
2. `judged` < T.judged, `judge_token_min` < T.judge_token_min, or `judge_token_mean` < T.judge_token_mean;
3. p < T.supported. p is `support` under the thresholds in force; under other token thresholds it is the least
   of those that were measured: `evidence_support`, `judged`, and `token_min` and `token_mean` each bent as
   `services.verifier.engines.certainty` does (a score s of at least its threshold t becomes
   1/2 + (s - t) / 2(1 - t)). Without `support` there is no p.

Otherwise it stands, as does one of which nothing was measured. Of those that stand, the unverified are
refused where the operator wants that (`withheld`).
"""

from collections.abc import Awaitable, Callable, Sequence
from math import fsum

from chassis.resilience.deadlines import Deadline
from contracts.answer import Verification
from contracts.verifier import CheckName, VerifyReply, VerifyRequest
from gateway.clients.services import Services
from gateway.planning.explaining import Explaining
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Context, GenerationBudget, Judgement, Query, Reply, Verdict
from gateway.steps.conclusion import conclude
from gateway.thresholds import Thresholds

Judge = Callable[[Query, Reply, Context, GenerationBudget, Deadline], Awaitable[Judgement]]
"""A reasoner's own."""
NOT_JUDGED = Judgement(None)

NOT_SUPPORTED = "support"
_TOKEN_CHECKS = (CheckName.TOKEN_MIN, CheckName.TOKEN_MEAN)


async def verify(
    services: Services,
    judge: Judge | None,
    query: Query,
    reply: Reply,
    context: Context,
    run: Run,
    thresholds: Thresholds,
) -> Verdict | None:
    """Check `reply`; ask the judge first if there is one.

    None if there is nothing to verify: no answer, or one in the evidence's own words. The built-in verifier
    has the reader's weights, and refuses almost none of the reader's answers (docs/quality.md).
    """
    if not reply.says_something or reply.quoted:
        return None
    _explain_tokens("token", reply.token_probabilities, run.explain)
    in_doubt = _in_doubt(own_verdict(reply, NOT_JUDGED, thresholds), thresholds, Verification.UNVERIFIED)
    question, failures, explain = query.question, run.failures, run.explain
    run.keep(conclude(question, reply, in_doubt, context, None, failures, thresholds, explain=explain))

    judgement, judge_failed = NOT_JUDGED, False
    if judge is not None and run.plan.judge:
        judge_failed = True
        async with run.optional(Stage.JUDGE), run.stage(Stage.JUDGE) as deadline:
            judgement = await judge(query, reply, context, run.plan.generation, deadline)
            judge_failed = False
        explain.signal("judged", judgement.probability)
        _explain_tokens("judge_token", judgement.token_probabilities, explain)
    elif judge is not None:
        await run.skip(Stage.JUDGE)

    verdict = None
    async with run.optional(Stage.VERIFIER), run.stage(Stage.VERIFIER) as deadline:
        request = _verify_request(query, reply, context, judgement, thresholds)
        checks = await services.verify(request, deadline)
        explain.signal("support", checks.probability)
        explain.signal("evidence_support", checks.evidence_probability)
        explain.note(Stage.VERIFIER, (each.detail for each in checks.checks if not each.passed))
        verdict = Verdict(checks.probability, _refused_by(checks, judgement, thresholds))
    if verdict is None or judge_failed:
        verdict = verdict or own_verdict(reply, judgement, thresholds)
        return _in_doubt(verdict, thresholds, Verification.UNVERIFIED)
    if judge is not None and not run.plan.judge:
        return _in_doubt(verdict, thresholds, Verification.VERIFIED)
    return verdict


def _in_doubt(verdict: Verdict | None, thresholds: Thresholds, verification: Verification) -> Verdict:
    """Return the verdict on an answer without a check: at most the least probability that checks accept."""
    least = min(thresholds.supported, thresholds.judged)
    probability, refusal = (verdict.probability, verdict.refusal) if verdict else (least, None)
    return Verdict(min(probability, least), refusal, verification)


def _verify_request(
    query: Query, reply: Reply, context: Context, judgement: Judgement, thresholds: Thresholds
) -> VerifyRequest:
    """Return the answer, the evidence that it quotes (all if it quotes none), and its model's certainty."""
    evidence = context.evidence
    places = dict.fromkeys(quote.index for quote in reply.quotes if 0 <= quote.index < len(evidence))
    return VerifyRequest(
        question=query.question,
        answer=reply.answer or "",
        evidence=[evidence[place].in_context for place in places] or [each.in_context for each in evidence],
        entity=context.entity.name if context.entity else None,
        token_probabilities=list(reply.token_probabilities or ()),
        token_min=thresholds.token_min,
        token_mean=thresholds.token_mean,
        model_judgement=judgement.probability,
    )


def _explain_tokens(name: str, tokens: Sequence[float] | None, explain: Explaining) -> None:
    if tokens:
        lowest, mean = least_and_mean(tokens)
        explain.signal(f"{name}_min", lowest)
        explain.signal(f"{name}_mean", mean)


def least_and_mean(tokens: Sequence[float]) -> tuple[float, float]:
    """s_min and s_mean of 3.7.2, to the last digit as the verifier reckons them."""
    lowest = min(tokens)
    return lowest, min(max(fsum(tokens) / len(tokens), lowest), max(tokens))


def own_verdict(reply: Reply, judgement: Judgement, thresholds: Thresholds) -> Verdict | None:
    """Without the verifier: the thresholds of 3.7.2 on what is in hand; None when nothing is."""
    measured = None
    if tokens := reply.token_probabilities:
        lowest, measured = least_and_mean(tokens)
        if lowest < thresholds.token_min:
            return Verdict(lowest, CheckName.TOKEN_MIN.value)
        if measured < thresholds.token_mean:
            return Verdict(measured, CheckName.TOKEN_MEAN.value)
    if judgement.probability is not None:
        measured = judgement.probability
    if _rejects(judgement, thresholds):
        return Verdict(measured or 0.0, CheckName.JUDGE.value)
    return None if measured is None else Verdict(measured)


def _rejects(judgement: Judgement, thresholds: Thresholds) -> bool:
    """Return whether the judge finds the answer wrong, or is not sure enough of its own words."""
    if judgement.probability is not None and judgement.probability < thresholds.judged:
        return True
    if not judgement.token_probabilities:
        return False
    lowest, mean = least_and_mean(judgement.token_probabilities)
    return lowest < thresholds.judge_token_min or mean < thresholds.judge_token_mean


def _refused_by(reply: VerifyReply, judgement: Judgement, thresholds: Thresholds) -> str | None:
    """Return the check that refuses: a model's doubt outweighs the probability by evidence.

    The judgement is compared here: the verifier has a threshold of its own for it.
    """
    failed = {each.name for each in reply.checks if not each.passed}
    doubted = next((name.value for name in _TOKEN_CHECKS if name in failed), None)
    if doubted is None and _rejects(judgement, thresholds):
        return CheckName.JUDGE.value
    if doubted is None and reply.probability < thresholds.supported:
        return NOT_SUPPORTED
    return doubted
