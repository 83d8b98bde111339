"""The answer from the evidence in hand, by the model or, when that cannot be had in time, without one."""

from collections.abc import Awaitable, Sequence
from typing import Protocol

from chassis.deadlines import Deadline
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.stages.evidence import prompt_tokens
from gateway.stages.run import Run
from gateway.stages.verification import Judge
from gateway.state import Ask, Draft, Effort, Evidence, Findings, Reply


class Answering(Protocol):
    """What both kinds of reasoner have."""

    def answer(
        self, ask: Ask, draft: Draft, findings: Findings, effort: Effort, deadline: Deadline
    ) -> Awaitable[Reply]:
        """The answer that the evidence supports."""
        ...

    def judge(
        self, ask: Ask, reply: Reply, evidence: Sequence[Evidence], deadline: Deadline
    ) -> Awaitable[float]:
        """The probability that it is right."""
        ...


async def answer_from(
    reasoner: Answering, resort: Answering | None, ask: Ask, draft: Draft, findings: Findings, run: Run
) -> tuple[Reply, Judge]:
    """The reply, and the judge that goes with whoever gave it.

    Signal: `answer_confidence`, where there is an answer.
    """
    effort = run.plan.effort
    run.explain.evidence(findings.evidence)
    shown = prompt_tokens(findings.evidence, effort.evidence_chars)
    reply = await run.or_resort(
        Stage.ANSWER,
        reasoner.answer,
        resort.answer if resort else None,
        ask,
        draft,
        findings,
        effort,
        size=Work(extra_prompt_tokens=shown, max_output_tokens=effort.answer_tokens),
    )
    if reply.says_something:
        run.explain.proposed(reply.answer)
        run.explain.signal("answer_confidence", reply.confidence)
    by_resort = resort is not None and run.resorted(Stage.ANSWER)
    return reply, resort.judge if by_resort and resort else reasoner.judge
