"""Runs a pipeline for one question: the session before and after, the hard stop, the trace."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from chassis.deadlines import Deadline
from chassis.errors import (
    DeadlineExceeded,
    ImageRequired,
    Internal,
    LoreglassError,
    Overloaded,
    PipelineNotFound,
    TraceNotFound,
    problem_of,
)
from contracts.answer import Answer, Reason, Route, Trace
from contracts.errors import Problem
from gateway.budget.stages import REPLY_RESERVE_MS, Stage
from gateway.pipelines.port import Pipeline
from gateway.sessions.port import Session, SessionStore
from gateway.stages.conclusion import Outcome, refusal
from gateway.stages.run import OnStage, Run
from gateway.state import Ask, Photo, Turn


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asked, checked and decoded. `deadline_ms` is what was asked for.

    `carried`: the conversation, for callers that keep it themselves and send it along; it has no id and
    is not remembered.
    """

    text: str
    photo: Photo | None
    session_id: str | None
    deadline_ms: int
    pipeline: str
    carried: Session | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question that will be answered, with the conversation it belongs to."""

    question: Question
    pipeline: Pipeline
    session: Session


class TraceStore:
    """The newest finished traces, in memory."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._traces: OrderedDict[str, Trace] = OrderedDict()

    def add(self, trace: Trace) -> None:
        """Keep a trace; the oldest gives way."""
        self._traces[trace.trace_id] = trace
        if len(self._traces) > self._limit:
            self._traces.popitem(last=False)

    def get(self, trace_id: str) -> Trace:
        """Raises `TraceNotFound`."""
        if trace_id not in self._traces:
            raise TraceNotFound("There is no trace with this id, or it is no longer kept.")
        return self._traces[trace_id]


class Execution:
    """Answers questions with the named pipelines, at most `max_in_flight` at once."""

    def __init__(
        self,
        pipelines: Mapping[str, Pipeline],
        sessions: SessionStore,
        traces: TraceStore,
        max_in_flight: int,
    ) -> None:
        self.pipelines = pipelines
        self.sessions = sessions
        self.traces = traces
        self._max_in_flight = max_in_flight
        self._in_flight = 0

    async def admit(self, question: Question) -> Admitted:
        """Everything that can be refused before any work is done.

        Raises `PipelineNotFound`, `SessionNotFound`, `ImageRequired` or `Overloaded`.
        """
        pipeline = self._pipeline(question.pipeline)
        self._require_room()
        return Admitted(question, pipeline, await self._session(question))

    async def answer(
        self, admitted: Admitted, trace_id: str, deadline: Deadline, on_stage: OnStage
    ) -> Answer:
        """The answer body, and a trace either way. Raises `Overloaded` or what a required stage raised."""
        self._require_room()  # again: others may have come in while the session was fetched
        question, session = admitted.question, admitted.session
        ask, run = _ask(question, session), Run(trace_id, deadline, on_stage)
        outcome: Outcome | None = None
        failure: Problem | None = None
        self._in_flight += 1
        try:
            outcome = await self._outcome(admitted.pipeline, ask, run)
            if question.carried is None:
                turn = Turn(ask.question, outcome.answer, outcome.abstained, outcome.entity)
                await run.optional(
                    Stage.SESSION, self._remember, session.session_id, turn, question.photo, otherwise=None
                )
            return _body(outcome, run, session.session_id)
        except Exception as error:
            failure = problem_of(error if isinstance(error, LoreglassError) else Internal(), trace_id)
            raise
        finally:
            self._in_flight -= 1
            self.traces.add(_trace(admitted, run, outcome, failure))

    def _require_room(self) -> None:
        if self._in_flight >= self._max_in_flight:
            raise Overloaded("Too many questions are being answered just now.", retry_after_s=1)

    def _pipeline(self, name: str) -> Pipeline:
        if name not in self.pipelines:
            known = ", ".join(sorted(self.pipelines))
            raise PipelineNotFound(f"There is no pipeline of this name. There are: {known}.")
        return self.pipelines[name]

    async def _session(self, question: Question) -> Session:
        if question.session_id is not None:
            return await self.sessions.get(question.session_id)
        if question.carried is not None and (question.photo or question.carried.photo):
            return question.carried
        if question.photo is None:
            raise ImageRequired("Send a photo, or the session_id of a conversation that has one.")
        return await self.sessions.create()

    async def _remember(self, session_id: str, turn: Turn, photo: Photo | None, deadline: Deadline) -> None:
        """Within the run's deadline, which stops it: an answer is not lost because it cannot be kept."""
        await self.sessions.append_turn(session_id, turn, photo)

    async def _outcome(self, pipeline: Pipeline, ask: Ask, run: Run) -> Outcome:
        """The pipeline's outcome, or a refusal when its time is over or its reasoner is too busy."""
        outcome = refusal(Reason.TIMED_OUT, Route.RAG)
        try:
            with anyio.move_on_after(max(0.0, run.deadline.remaining_ms() - REPLY_RESERVE_MS) / 1000):
                outcome = await pipeline.answer(ask, run)
        except DeadlineExceeded:
            return refusal(Reason.TIMED_OUT, Route.RAG)
        except Overloaded:
            return refusal(Reason.OVERLOADED, Route.RAG)
        return outcome


def _trace(admitted: Admitted, run: Run, outcome: Outcome | None, failure: Problem | None) -> Trace:
    """What happened; without an outcome where it failed or the caller left."""
    return Trace(
        trace_id=run.trace_id,
        pipeline=admitted.pipeline.name,
        route=outcome.route if outcome else None,
        reason=outcome.reason if outcome else None,
        deadline_ms=admitted.question.deadline_ms,
        total_ms=round(run.elapsed_ms(), 2),
        stages=run.stages,
        problem=failure,
        refused_by=outcome.refused_by if outcome else None,
    )


def _ask(question: Question, session: Session) -> Ask:
    return Ask(
        question=question.text,
        photo=question.photo or session.photo,
        photo_is_new=question.photo is not None,
        history=session.turns,
    )


def _body(outcome: Outcome, run: Run, session_id: str) -> Answer:
    return Answer(
        answer=outcome.answer,
        abstained=outcome.abstained,
        reason=outcome.reason,
        confidence=round(outcome.confidence, 4),
        route=outcome.route,
        domain=outcome.domain,
        entity=outcome.entity.name if outcome.entity else None,
        citations=list(outcome.citations),
        degraded=run.degraded,
        timings_ms={**run.timings_ms, "total": round(run.elapsed_ms(), 2)},
        trace_id=run.trace_id,
        session_id=session_id,
    )
