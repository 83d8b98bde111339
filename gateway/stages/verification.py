"""The dual verifier (QA-Dragon, 3.7.2): probabilities first, a judge only if they are borderline."""

from chassis.deadlines import Deadline
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.port import Reasoner
from gateway.stages.run import Run
from gateway.state import Ask, Findings, Reply, Verdict
from gateway.thresholds import Thresholds

LOW_TOKEN_PROBABILITY = "token_probability"
NOT_SUPPORTED = "support"
JUDGED_WRONG = "judge"


def check_tokens(reply: Reply, thresholds: Thresholds) -> Verdict | None:
    """White-box check on the answer's token probabilities; None when the reasoner has none."""
    tokens = reply.token_probabilities
    if not tokens:
        return None
    lowest, mean = min(tokens), sum(tokens) / len(tokens)
    accepted = lowest >= thresholds.token_min and mean >= thresholds.token_mean
    return Verdict(mean, None if accepted else LOW_TOKEN_PROBABILITY)


async def verify(
    services: Services,
    reasoner: Reasoner,
    ask: Ask,
    reply: Reply,
    findings: Findings,
    run: Run,
    thresholds: Thresholds,
) -> Verdict | None:
    """Token probabilities, then support by the evidence; the judge only if that is borderline.

    None when there is nothing to verify, or when the verifier is out.
    """
    if not reply.says_something:
        return None
    verdict = check_tokens(reply, thresholds) or await run.optional(
        Stage.VERIFIER, check_support, services, ask, reply, findings, thresholds, otherwise=None
    )
    if verdict is None or verdict.refusal or verdict.probability >= thresholds.borderline:
        return verdict
    judged = await run.optional(
        Stage.JUDGE, reasoner.judge, ask, reply, findings.evidence, otherwise=verdict.probability
    )
    return Verdict(judged, None if judged >= thresholds.supported else JUDGED_WRONG)


async def check_support(
    services: Services,
    ask: Ask,
    reply: Reply,
    findings: Findings,
    thresholds: Thresholds,
    deadline: Deadline,
) -> Verdict:
    """Whether the quoted evidence supports the answer."""
    evidence = findings.evidence
    named = dict.fromkeys(quote.index for quote in reply.quotes)
    quoted = [evidence[index].in_context for index in named if 0 <= index < len(evidence)]
    texts = quoted or [item.in_context for item in evidence]
    name = findings.entity.name if findings.entity else None
    checked = await services.verify(ask.question, reply.answer or "", texts, name, deadline)
    refusal = None if checked.probability >= thresholds.supported else NOT_SUPPORTED
    return Verdict(checked.probability, refusal)
