"""The answer from the evidence in hand, by the model or, when that cannot be had in time, without one."""

from collections.abc import Awaitable
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stages import FALLBACK_STAGE, Stage
from gateway.state import Context, Draft, GenerationBudget, Query, Reply
from gateway.steps.conclusion import out_of_time
from gateway.steps.evidence import prompt_tokens
from gateway.steps.verification import Judge
from gateway.thresholds import Thresholds


class Answering(Protocol):
    """What both kinds of reasoner have."""

    def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Awaitable[Reply]:
        """The answer that the evidence supports."""
        ...

    def judge(
        self, query: Query, reply: Reply, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Awaitable[float | None]:
        """The probability that it is right, or None for no opinion."""
        ...


async def answer_from(
    reasoner: Answering, fallback: Answering | None, query: Query, draft: Draft, context: Context, run: Run
) -> tuple[Reply, Judge]:
    """The reply, and the judge of the reasoner that gave it.

    Signal: `answer_confidence`, where there is an answer.
    """
    generation = run.plan.generation
    run.explain.evidence(context.evidence)
    run.keep(out_of_time(query.question, context))
    shown = prompt_tokens(context.evidence, generation.evidence_chars)
    size = Work(extra_prompt_tokens=shown, max_output_tokens=generation.answer_tokens)
    async for reader, may_fail, stage in run.attempts(Stage.ANSWER, reasoner, fallback, size):
        async with may_fail, stage as deadline:
            reply = await reader.answer(query, draft, context, generation, deadline)
    if reply.says_something:
        run.explain.proposed(reply.answer)
        run.explain.signal("answer_confidence", reply.confidence)
    return reply, reader.judge


async def read_instead(
    reader: Answering, query: Query, draft: Draft, context: Context, thresholds: Thresholds, run: Run
) -> Reply | None:
    """Return the reader's answer to a question that the model could not answer; None if it is not sure.

    Its answer replaces the model's in the explanation, with its own `answer_confidence`.
    """
    reply, stage = None, FALLBACK_STAGE[Stage.ANSWER]
    async with run.optional(stage), run.stage(stage) as deadline:
        reply = await reader.answer(query, draft, context, run.plan.generation, deadline)
    if reply is None or not reply.says_something or (reply.confidence or 0.0) < thresholds.answer_confidence:
        return None
    run.explain.proposed(reply.answer)
    run.explain.signal("answer_confidence", reply.confidence)
    return reply
