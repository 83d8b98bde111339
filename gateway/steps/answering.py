"""The model's two calls that a fallback may take over: the first look at a photo, and the answer."""

from collections.abc import Awaitable, Callable
from functools import partial

from chassis.resilience.deadlines import Deadline
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stages import FALLBACK_STAGE, Stage
from gateway.reasoning.port import Answering
from gateway.state import Context, Draft, GenerationBudget, Query, Reply
from gateway.steps.conclusion import Outcome, conclude_unchecked, out_of_time
from gateway.steps.evidence import prompt_tokens
from gateway.thresholds import Thresholds

DraftByServices = Callable[[Deadline], Awaitable[Draft]]
"""Draft without a model: what to look up, and what the photo's print answers."""


async def answer_from(
    reasoner: Answering, fallback: Answering | None, query: Query, draft: Draft, context: Context, run: Run
) -> Reply:
    """Return the reply. Signal: `answer_confidence`, where there is an answer."""
    generation = run.plan.generation
    run.explain.evidence(context.evidence)
    run.keep(out_of_time(query.question, context))
    tokens = prompt_tokens(context.evidence, generation.evidence_chars)
    size = Work(extra_prompt_tokens=tokens, max_output_tokens=generation.answer_tokens)

    def answer_by(reader: Answering) -> Callable[[Deadline], Awaitable[Reply]]:
        return partial(reader.answer, query, draft, context, generation)

    by_fallback = answer_by(fallback) if fallback is not None else None
    reply = await run.with_fallback(Stage.ANSWER, answer_by(reasoner), by_fallback, size)
    if reply.says_something:
        run.explain.set_answer(reply.answer)
        run.explain.signal("answer_confidence", reply.confidence)
    return reply


async def answer_unchecked(
    answer: Callable[[GenerationBudget, Deadline], Awaitable[Reply]],
    query: Query,
    context: Context,
    tokens: int,
    run: Run,
) -> Outcome:
    """Return the answer of a model without a fallback as it was said: nothing verifies or withholds it.

    `tokens`: of material in its prompt.
    """
    generation = run.plan.generation
    run.keep(out_of_time(query.question, context))
    size = Work(extra_prompt_tokens=tokens, max_output_tokens=generation.answer_tokens)
    async with run.required(Stage.ANSWER, size) as deadline:
        reply = await answer(generation, deadline)
    return conclude_unchecked(query.question, reply, context, run.failures, run.explain)


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
    run.explain.set_answer(reply.answer)
    run.explain.signal("answer_confidence", reply.confidence)
    return reply


def spared_stages(*, sees_photos: bool) -> tuple[Stage, ...]:
    """Return the stages that a first question does not need, by whether the model sees photos."""
    return (Stage.QUERY_REWRITE,) if sees_photos else (Stage.QUERY_REWRITE, Stage.DRAFT)


async def draft_from_question(
    reasoner: Answering, by_services: DraftByServices | None, query: Query, run: Run
) -> Draft:
    """Return the draft where the model cannot look: there is no photo, or it sees none.

    It is the services' for a photo (`by_services`), else the question to search for.
    """
    run.spare(Stage.DRAFT)
    if query.photo is not None and by_services is not None:
        run.spare(Stage.QUERY_REWRITE)
        async with run.stage(FALLBACK_STAGE[Stage.DRAFT]) as deadline:
            return await by_services(deadline)
    if not query.history:
        run.spare(Stage.QUERY_REWRITE)
        return Draft.of_question()
    text = ""
    async with run.optional(Stage.QUERY_REWRITE), run.stage(Stage.QUERY_REWRITE) as deadline:
        text = await reasoner.rewrite(query, deadline)
    run.explain.note(Stage.QUERY_REWRITE, text)
    return Draft.of_question(text) if text else Draft.of_question()
