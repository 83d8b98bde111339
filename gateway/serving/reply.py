"""Make the body of an answer, its trace, and its record for metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from contracts.answer import Answer, LookedAt, LookedAtKind, ModelUsage, Trace
from contracts.errors import Problem
from gateway.pipelines.port import Tunable
from gateway.planning.run import Run, in_shares
from gateway.reasoning.calls import ModelCalls
from gateway.serving.metrics import QuestionRecord
from gateway.serving.question import Admitted
from gateway.state import Entity
from gateway.steps.conclusion import Outcome

_STOPPED_WITHIN_MS = 1.0
"""Timers are exact to the millisecond: a question stopped this close to its deadline was stopped by it."""


class AnswerWithRemark(Answer):
    """An answer here, before it is sent. `remark`: the end of its text, which claims nothing."""

    remark: str = Field(default="", exclude=True)


@dataclass(slots=True)
class Progress:
    """An admitted question on its way. `outcome`: its pipeline's; `failure`: the problem it ended with."""

    admitted: Admitted
    run: Run
    calls: ModelCalls
    outcome: Outcome | None = None
    reply: AnswerWithRemark | None = None
    failure: Problem | None = None

    @property
    def degraded(self) -> list[str]:
        """The unread fields, the failed or reduced stages, and the services that a reasoner missed."""
        return [*self.admitted.question.unread, *self.run.degraded, *self.calls.without]


def to_answer(progress: Progress, outcome: Outcome, advice: str, speech: str | None) -> AnswerWithRemark:
    """Return the body. `speech`: the URL of its sound."""
    admitted, run, calls = progress.admitted, progress.run, progress.calls
    pipeline = admitted.pipeline
    explains = run.explain.asked_for  # to see what a pipeline can costs more than most stages
    thresholds = pipeline.thresholds if explains and isinstance(pipeline, Tunable) else None
    total_ms = round(run.elapsed_ms(), 2)
    first_word_ms = total_ms if run.identified_ms is None else round(run.identified_ms, 2)
    return AnswerWithRemark(
        answer=outcome.said,
        remark=outcome.remark,
        abstained=outcome.abstained,
        reason=outcome.reason,
        confidence=None if outcome.confidence is None else round(outcome.confidence, 4),
        route=outcome.route,
        domain=outcome.domain,
        entity=outcome.entity.name if outcome.entity else run.identified,
        citations=list(outcome.citations),
        degraded=progress.degraded,
        timings_ms={**run.timings_ms, "first_word": first_word_ms, "total": total_ms},
        trace_id=run.trace_id,
        session_id=admitted.session.session_id,
        explanation=run.explain.to_explanation(thresholds, calls.kept or ()),
        model_usage=ModelUsage(
            calls=calls.count,
            prompt_tokens=calls.prompt_tokens,
            completion_tokens=calls.completion_tokens,
        ),
        looked_at=_regions(run.looked_at, outcome.entity),
        advice=advice,
        transcript=run.transcript,
        speech=speech,
        verification=outcome.verification,
        closest=outcome.closest,
    )


def _regions(looked_at: Sequence[LookedAt], entity: Entity | None) -> list[LookedAt]:
    """Return the regions, with `shows_entity` on the crop that the entity was found in."""
    place = in_shares(entity.place) if entity and entity.place else None
    return [
        region.model_copy(update={"shows_entity": True})
        if region.kind is LookedAtKind.CROP
        and (region.left, region.top, region.right, region.bottom) == place
        else region
        for region in looked_at
    ]


def to_record(progress: Progress) -> QuestionRecord:
    """Return the record of a question that is over. A question without reply or failure was stopped."""
    admitted, run, outcome, reply = progress.admitted, progress.run, progress.outcome, progress.reply
    stopped = reply is None and progress.failure is None
    trace = Trace(
        trace_id=run.trace_id,
        pipeline=admitted.pipeline.name,
        route=outcome.route if outcome else None,
        reason=outcome.reason if outcome else None,
        deadline_ms=admitted.question.deadline_ms,
        total_ms=round(run.elapsed_ms(), 2),
        stages=run.stages,
        problem=progress.failure,
        refused_by=outcome.refused_by if outcome else None,
        plans=run.planning.traces,
    )
    return QuestionRecord(
        trace=trace,
        domain=outcome.domain if outcome else None,
        degraded=tuple(progress.degraded),
        model_calls=progress.calls.count,
        tenant=admitted.question.caller.tenant,
        overran=run.deadline.remaining_ms() <= (_STOPPED_WITHIN_MS if stopped else 0.0),
        stopped=stopped,
        first_word_ms=reply.timings_ms["first_word"] if reply else None,
    )
