"""A question in progress: its fields, the body of its answer, its trace and its record."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from contracts.answer import (
    Answer,
    Experiment,
    LookedAt,
    LookedAtKind,
    MemoryInput,
    ModelUsage,
    Reason,
    Trace,
)
from contracts.errors import Problem
from gateway.pipelines.port import PLANNER, Pipeline, thresholds_of
from gateway.planning.run import Run, in_shares
from gateway.reasoning.pieces import readable_excerpt, without_markup
from gateway.reasoning.port import ModelCalls
from gateway.serving.metrics import QuestionRecord
from gateway.serving.stores import Session
from gateway.serving.tenants import ANYBODY, Caller
from gateway.speech.audio import Sound
from gateway.state import Entity, Photo, Query
from gateway.steps.conclusion import CLOSEST_CHARS, Outcome
from language.identification import foreign_language_of

SPOKEN_CHARS = 160


def in_words(reply: Answer | Outcome, question: str = "", most_chars: int = CLOSEST_CHARS) -> str:
    """Return what a refusal says of the closest passage; empty if there is none.

    If its sentences are longer than `most_chars`, those that share most words with `question`. Other people
    wrote them, so markup and addresses are left out, as in an answer.
    """
    closest = reply.closest
    if closest is None:
        return ""
    sentence = without_markup(readable_excerpt(closest.sentence, most_chars, question)).replace('"', "'")
    title = without_markup(closest.title)
    is_cut = sentence[-1:].isalnum() and closest.snippet.partition(closest.sentence)[2][:1] == " "
    end = "…" if is_cut else ""
    return f'The closest I found: "{sentence}{end}"' + (f" ({title})." if title else ".")


@dataclass(frozen=True, slots=True)
class Question:
    """A caller's question, checked and decoded. `deadline_ms`: as the caller set it.

    `conversation`: of a caller who stores it and sends it along; it has no id and is not remembered.
    `sound`: a recording, whose words are the question, or come behind it. `instructions`: how the caller
    wants answers worded. `ignored_fields`: names of fields that are ignored or cut, for `degraded`.
    `experiment`: one that the operator allows. `opens_session`: if there is no session of this id, the
    question begins one. `memory`: consent to remember what the photo shows.
    """

    text: str
    photo: Photo | None
    session_id: str | None
    deadline_ms: int
    pipeline: str
    conversation: Session | None = None
    instructions: str = ""
    ignored_fields: tuple[str, ...] = ()
    caller: Caller = ANYBODY
    experiment: Experiment | None = None
    opens_session: bool = False
    sound: Sound | None = None
    memory: MemoryInput | None = None

    @property
    def digest(self) -> str:
        """SHA-256, hex, of the question; the caller and its deadline are no part of it."""
        experiment = self.experiment.model_dump() if self.experiment else None
        photo = self.photo.digest if self.photo else None
        sound = self.sound.digest if self.sound else None
        parts = (self.text, sound, photo, self.session_id, self.pipeline, experiment)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def is_planned(self) -> bool:
        """Return whether something may be given up for want of time."""
        return self.experiment is None or PLANNER not in self.experiment.without

    def to_query(self, session: Session) -> Query:
        """Return what a pipeline is to answer: the question with what the conversation knows."""
        remembered = self.conversation is None
        return Query(
            question=self.text,
            photo=self.photo or session.photo,
            photo_is_new=self.photo is not None,
            # Of a session, a turn without a question is one that was not heard.
            history=tuple(turn for turn in session.turns if turn.question or not remembered),
            instructions=self.instructions,
        )


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question that will be answered. `pipeline`: as the question's experiment varies it."""

    question: Question
    pipeline: Pipeline
    session: Session


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
        """The ignored fields, the failed or reduced stages, and the services that a reasoner missed."""
        return [*self.admitted.question.ignored_fields, *self.run.degraded, *self.calls.without]


def to_answer(progress: Progress, outcome: Outcome, advice: str, speech: str | None) -> AnswerWithRemark:
    """Return the body. `speech`: the URL of its sound."""
    admitted, run, calls = progress.admitted, progress.run, progress.calls
    pipeline = admitted.pipeline
    thresholds = thresholds_of(pipeline) if run.explain.enabled else None
    total_ms = round(run.elapsed_ms(), 2)
    first_word_ms = total_ms if run.identified_ms is None else round(run.identified_ms, 2)
    return AnswerWithRemark(
        answer=outcome.text,
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
        explanation=run.explain.to_explanation(thresholds, calls.words or ()),
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


_OF_REASON = {
    Reason.TIMED_OUT: "Ask again; what I have read in the photo by now will be quicker.",
    Reason.OVERLOADED: "Ask again in a moment.",
    Reason.UNAVAILABLE: "Ask again in a minute.",
    Reason.NOTHING_INDEXED: "Photos and pages of things have to be indexed first.",
    Reason.LANGUAGE: "Ask it in English.",
    Reason.NEEDS_PHOTO: "Look at it and ask again.",
    Reason.NOT_HEARD: "Say it again, a little louder.",
    Reason.NOT_REMEMBERED: "Only things you asked about while the memory was on are remembered.",
}
_COME_CLOSER = "Come closer, so that it fills the view, and ask again."
_CLOSER_TO_READ = "Come closer to the print and hold still: it is too small for me to read."
_SMALL_PRINT = 0.008
"""Of the photo's height: at 1,920 pixels a line of fewer than 16, which recognisers of print read badly."""


def advice(outcome: Outcome, query: Query, looked_at: Sequence[LookedAt]) -> str:
    """Return the sentence; empty for an answer. `looked_at`: what of the photo the question looked at."""
    if not outcome.abstained:
        return ""
    if outcome.reason in _OF_REASON:
        sentence = _OF_REASON[outcome.reason]
        language = foreign_language_of(query.question) if outcome.reason is Reason.LANGUAGE else None
        return f"{language.advice} {sentence}" if language else sentence
    lines = [each for each in looked_at if each.kind is LookedAtKind.TEXT]
    small = [each for each in lines if min(each.bottom - each.top, each.right - each.left) < _SMALL_PRINT]
    if query.photo is not None and 2 * len(small) > len(lines):
        return _CLOSER_TO_READ
    if query.photo is not None and outcome.entity is None:
        return _COME_CLOSER
    if outcome.reason is Reason.NO_EVIDENCE:
        thing = outcome.entity.name if outcome.entity else "this"
        return f"Index a page about {thing}, or ask for something else."
    return "Rephrase the question, or name the thing."
