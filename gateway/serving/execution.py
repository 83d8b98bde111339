"""Runs a pipeline for one question: admission, the session before and after, the hard stop, the trace."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
from pydantic import Field

from chassis.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    Internal,
    LoreglassError,
    NotConfigured,
    Overloaded,
    PipelineNotFound,
    SessionNotFound,
    problem_of,
)
from chassis.resilience.deadlines import Deadline
from chassis.scope import scoped
from chassis.telemetry.spans import CURRENT
from contracts.answer import Answer, Experiment, ModelUsage, Reason, Route, Trace, Verification
from contracts.errors import Problem
from gateway.pipelines.experiments import varied
from gateway.pipelines.port import PAPER_PIPELINES, Pipeline, Tunable
from gateway.planning.explaining import SILENT, Explaining
from gateway.planning.live_plan import LivePlan
from gateway.planning.planner import Planner
from gateway.planning.run import OnEvent, Run
from gateway.planning.stages import REPLY_RESERVE_MS, Stage
from gateway.reasoning.calls import ModelCalls, calls_counted
from gateway.serving.admission import Admission
from gateway.serving.closest import SPOKEN_CHARS, in_words
from gateway.serving.metrics import OnEnd, QuestionRecord, no_op
from gateway.serving.sessions import Session, SessionStore, new_session_id
from gateway.serving.tenants import PUBLIC, Caller
from gateway.serving.traces import TraceStore
from gateway.serving.voice import NO_VOICE, Voice, with_words
from gateway.speech.audio import Sound
from gateway.state import Photo, Priority, Query, Turn, Unverified
from gateway.steps.advice import advice
from gateway.steps.conclusion import (
    Outcome,
    in_the_askers_language,
    refusal,
    with_caution,
    withheld,
)

ANYBODY = Caller(PUBLIC, Priority.INTERACTIVE)
LEAST_SHARE = 0.5
"""Of its time a question that waits may keep at least this much waiting; it may be short of time anyway."""
HoldsAnything = Callable[[Deadline], Awaitable[bool]]
Vary = Callable[[Pipeline, Experiment | None], Pipeline]
_LOOK_MS = 500
"""At most so long a refusal waits to hear whether there is an index at all."""
_STOPPED_WITHIN_MS = 1.0
"""Timers are exact to the millisecond: a question stopped this close to its deadline was stopped by it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a caller asked, checked and decoded. `deadline_ms` is what was asked for.

    `carried`: the conversation, for callers that keep it themselves and send it along; it has no id and
    is not remembered. `sound`: what was said, whose words are the question, or come behind it.
    `instructions`: how it wants answers worded. `unread`: names of what came with the question and is not
    heeded, for `degraded`. `experiment`: one that the operator has allowed.
    `opens_session`: where there is no session of this id, it begins one.
    """

    text: str
    photo: Photo | None
    session_id: str | None
    deadline_ms: int
    pipeline: str
    carried: Session | None = None
    instructions: str = ""
    unread: tuple[str, ...] = ()
    caller: Caller = ANYBODY
    experiment: Experiment | None = None
    opens_session: bool = False
    sound: Sound | None = None

    @property
    def digest(self) -> str:
        """SHA-256, hex, of what is asked; who asks, and how long they will wait, is no part of it."""
        experiment = self.experiment.model_dump() if self.experiment else None
        photo = self.photo.digest if self.photo else None
        sound = self.sound.digest if self.sound else None
        asked = (self.text, sound, photo, self.session_id, self.pipeline, experiment)
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question that will be answered, by a copy of the pipeline where its experiment varies it, with the
    conversation it belongs to."""

    question: Question
    pipeline: Pipeline
    session: Session


class Answered(Answer):
    """An answer here, before it is sent. `remark`: the part of its text that is said of it, at its end."""

    remark: str = Field(default="", exclude=True)


@dataclass(slots=True)
class _Ending:
    """How a question ends, as far as is known by now. `first_word_ms`: when there was something to say."""

    calls: ModelCalls
    outcome: Outcome | None = None
    failure: Problem | None = None
    replied: bool = False
    first_word_ms: float | None = None

    @property
    def stopped(self) -> bool:
        """There is no reply: its caller left, or its time was over."""
        return not self.replied and self.failure is None


@dataclass(frozen=True, slots=True)
class Tier:
    """A way in, and what is planned for those who take it."""

    admission: Admission
    planner: Planner


class Execution:
    """Answers questions with the named pipelines, as many at once as the tiers let in.

    `tiers`: a question that one refuses tries the next, where less is done (degrade before shed). `on_end` is
    told of each question once, however it ended. `holds_anything`: whether the searches have an index to look
    into; without it nobody is told that they have none. `vary`: makes the pipeline that an experiment wants.
    `voice`: what hears and speaks. `scope_of`: of a tenant, in which services work for it. `unverified`: what
    becomes of answers that could not be checked.
    """

    def __init__(
        self,
        pipelines: Mapping[str, Pipeline],
        sessions: SessionStore,
        traces: TraceStore,
        tiers: Sequence[Tier],
        on_end: OnEnd = no_op,
        holds_anything: HoldsAnything | None = None,
        vary: Vary = varied,
        voice: Voice = NO_VOICE,
        scope_of: Callable[[str], str] = lambda _: "",
        unverified: Unverified = Unverified.REFUSE,
    ) -> None:
        self.pipelines = pipelines
        self.sessions = sessions
        self.traces = traces
        self._tiers = tiers
        self._on_end = on_end
        self._holds_anything = holds_anything
        self._vary = vary
        self._voice = voice
        self._scope_of = scope_of
        self._unverified = unverified

    async def admit(self, question: Question) -> Admitted:
        """Everything that can be refused before any work is done.

        Raises `PipelineNotFound`, `InvalidRequest`, `NotConfigured` or `SessionNotFound`.
        """
        if question.sound is not None:
            self._voice.require_transcriber()
        pipeline = self._vary(self._pipeline(question.pipeline), question.experiment)
        return Admitted(question, pipeline, await self._session(question))

    async def answer(
        self, admitted: Admitted, trace_id: str, deadline: Deadline, on_event: OnEvent
    ) -> Answered:
        """The answer body, and a trace either way.

        Raises `Overloaded` when it is not let in, or what a required stage raised.
        """
        experiment = admitted.question.experiment
        explain = Explaining() if experiment and experiment.explain else SILENT
        keep = experiment is not None and experiment.model_calls
        run = Run(trace_id, deadline, on_event, explain=explain)
        with calls_counted(keep=keep) as calls, scoped(self._scope_of(admitted.question.caller.tenant)):
            ending = _Ending(calls)
            try:
                return await self._reply(admitted, run, ending)
            except Exception as error:
                ending.failure = problem_of(
                    error if isinstance(error, LoreglassError) else Internal(), trace_id
                )
                raise
            finally:
                self._end(admitted, run, ending)

    async def _reply(self, admitted: Admitted, run: Run, ending: _Ending) -> Answered:
        question, session = admitted.question, admitted.session
        query = _ask(question, session)
        found = await self._by_some_tier(admitted, query, run)
        query = with_words(query, run.transcript)
        outcome = ending.outcome = in_the_askers_language(found, query.question)
        if question.carried is None:
            async with run.optional(Stage.SESSION), run.stage(Stage.SESSION) as deadline:
                await self._remember(admitted, query, outcome, deadline)
        advised = advice(outcome, query, run.looked_at)
        closest = in_words(outcome, query.question, SPOKEN_CHARS)
        speech = await self._voice.address(f"{outcome.said} {closest} {advised}", question.caller, run)
        body = _body(outcome, advised, speech, run, admitted, ending)
        ending.replied = True
        return body

    def _end(self, admitted: Admitted, run: Run, ending: _Ending) -> None:
        """Keep the trace, and tell of the question."""
        trace, tenant = _trace(admitted, run, ending), admitted.question.caller.tenant
        self.traces.add(trace, tenant)
        record = QuestionRecord(
            trace=trace,
            domain=ending.outcome.domain if ending.outcome else None,
            degraded=tuple(_degraded(run, admitted, ending)),
            model_calls=ending.calls.count,
            tenant=tenant,
            overran=run.deadline.remaining_ms() <= (_STOPPED_WITHIN_MS if ending.stopped else 0.0),
            stopped=ending.stopped,
            first_word_ms=ending.first_word_ms,
        )
        CURRENT.get().set(
            **{"loreglass.pipeline": trace.pipeline, "loreglass.route": record.route},
            **{"loreglass.reason": record.reason},
        )
        self._on_end(record)

    async def _by_some_tier(self, admitted: Admitted, query: Query, run: Run) -> Outcome:
        """Raises the last tier's `Overloaded` when all of them are full."""
        needs_model = admitted.pipeline.stage_graph.needs_model
        *others, last = self._tiers[:1] if needs_model else self._tiers
        for tier in others:
            try:
                return await self._in_turn(tier, admitted, query, run)
            except Overloaded:
                continue
        return await self._in_turn(last, admitted, query, run)

    async def _in_turn(self, tier: Tier, admitted: Admitted, query: Query, run: Run) -> Outcome:
        """The outcome once the question is let in; a refusal where its time is over before that."""
        caller, graph, admission = admitted.question.caller, admitted.pipeline.stage_graph, tier.admission
        least_ms, waits = 0.0, admission.full
        if waits:
            smallest_ms = tier.planner.least_ms(admission.in_flight, graph)
            least_ms = min(smallest_ms, LEAST_SHARE * run.deadline.remaining_ms())
        try:
            async with admission.admitted(caller.tenant, caller.priority, run.deadline, least_ms):
                run.planning = LivePlan(tier.planner, graph, admission)
                await run.begin(waited=waits)
                return await self._understood(admitted, query, run)
        except DeadlineExceeded:
            return refusal(Reason.OVERLOADED if waits else Reason.TIMED_OUT, Route.RAG)

    async def _understood(self, admitted: Admitted, query: Query, run: Run) -> Outcome:
        """The outcome of what was asked, once it is in words."""
        sound = admitted.question.sound
        asked = query if sound is None else await self._voice.understood(query, sound, run)
        if isinstance(asked, Outcome):
            return asked
        found = await self._outcome(admitted.pipeline, asked, run)
        return await self._or_why(with_caution(found, self._unverified, run.explain), run)

    async def _or_why(self, outcome: Outcome, run: Run) -> Outcome:
        """The outcome; where nothing was found because nothing is indexed, a refusal that says so."""
        if outcome.reason is not Reason.NO_EVIDENCE or self._holds_anything is None:
            return outcome
        deadline = run.deadline.within(_LOOK_MS, REPLY_RESERVE_MS)
        try:
            with anyio.fail_after(deadline.remaining_s()):
                holds = await self._holds_anything(deadline)
        except (TimeoutError, LoreglassError):
            return outcome
        if holds:
            return outcome
        return refusal(Reason.NOTHING_INDEXED, outcome.route, outcome.domain, outcome.entity)

    def _pipeline(self, name: str) -> Pipeline:
        if name not in self.pipelines:
            if name in PAPER_PIPELINES:
                raise NotConfigured(
                    f"The pipeline {name} needs a vision-language model, and none is set up here. "
                    "Start with `loreglass serve --model-url URL`, or set LOREGLASS_GATEWAY_REASONING=vlm, "
                    "LOREGLASS_GATEWAY_VLM_URL and LOREGLASS_GATEWAY_VLM_MODEL, or ask without `pipeline`."
                )
            known = ", ".join(sorted(self.pipelines))
            raise PipelineNotFound(f"There is no pipeline of this name. There are: {known}.")
        return self.pipelines[name]

    async def _session(self, question: Question) -> Session:
        tenant = question.caller.tenant
        if question.session_id is not None:
            try:
                return await self.sessions.get(question.session_id, tenant)
            except SessionNotFound:
                if not question.opens_session:
                    raise
                return Session(question.session_id)
        if question.carried is not None:
            return question.carried
        return Session(new_session_id())  # kept with its first turn: a shed question leaves no session

    async def _remember(self, admitted: Admitted, query: Query, outcome: Outcome, deadline: Deadline) -> None:
        """Within the run's deadline, which stops it: an answer is not lost because it cannot be kept."""
        question, session_id = admitted.question, admitted.session.session_id
        turn = Turn(query.question, outcome.answer, outcome.abstained, outcome.entity)
        if not admitted.session.turns:  # nothing is kept without a turn: this session is new
            await self.sessions.create(question.caller.tenant, session_id)
        await self.sessions.append_turn(session_id, turn, question.photo, question.caller.tenant)

    async def _outcome(self, pipeline: Pipeline, query: Query, run: Run) -> Outcome:
        """Return the pipeline's outcome; if time is over, what it had; if its model is away, a refusal."""
        stop = asyncio.timeout(max(0.0, run.deadline.remaining_ms() - REPLY_RESERVE_MS) / 1000)
        try:
            async with stop:
                return await pipeline.answer(query, run)
        except (DeadlineExceeded, TimeoutError) as error:
            if isinstance(error, TimeoutError) and not stop.expired():
                raise
            return self._in_hand(run)
        except (Overloaded, DependencyUnavailable) as error:
            kept = run.in_hand
            closest = kept.closest if isinstance(kept, Outcome) else None
            busy = isinstance(error, Overloaded)
            return refusal(Reason.OVERLOADED if busy else Reason.UNAVAILABLE, Route.RAG, closest=closest)

    def _in_hand(self, run: Run) -> Outcome:
        """Return what the pipeline had when its time ended: an answer is unverified, and refused if the
        operator wants that. Signal: `withheld`, as for `with_caution`.
        """
        kept = run.in_hand
        if not isinstance(kept, Outcome):
            return refusal(Reason.TIMED_OUT, Route.RAG)
        if kept.abstained:
            return kept
        if self._unverified is Unverified.REFUSE:
            run.explain.signal("withheld", 1.0)
            return withheld(kept, Reason.UNSUPPORTED)
        return replace(kept, verification=Verification.UNVERIFIED)


def _trace(admitted: Admitted, run: Run, ending: _Ending) -> Trace:
    """What happened; without an outcome where it failed or the caller left."""
    outcome = ending.outcome
    return Trace(
        trace_id=run.trace_id,
        pipeline=admitted.pipeline.name,
        route=outcome.route if outcome else None,
        reason=outcome.reason if outcome else None,
        deadline_ms=admitted.question.deadline_ms,
        total_ms=round(run.elapsed_ms(), 2),
        stages=run.stages,
        problem=ending.failure,
        refused_by=outcome.refused_by if outcome else None,
        plans=run.planning.traces,
    )


def _ask(question: Question, session: Session) -> Query:
    remembered = question.carried is None
    return Query(
        question=question.text,
        photo=question.photo or session.photo,
        photo_is_new=question.photo is not None,
        # Of a session, a turn without a question is one that was not heard.
        history=tuple(turn for turn in session.turns if turn.question or not remembered),
        instructions=question.instructions,
    )


def _degraded(run: Run, admitted: Admitted, ending: _Ending) -> list[str]:
    """What was done without, in the question, the stages and the calls of the model."""
    return [*admitted.question.unread, *run.degraded, *ending.calls.without]


def _body(
    outcome: Outcome, advised: str, speech: str | None, run: Run, admitted: Admitted, ending: _Ending
) -> Answered:
    pipeline = admitted.pipeline
    explains = run.explain.asked_for  # to see what a pipeline can costs more than most stages
    thresholds = pipeline.thresholds if explains and isinstance(pipeline, Tunable) else None
    total_ms = round(run.elapsed_ms(), 2)
    first_word_ms = total_ms if run.identified_ms is None else round(run.identified_ms, 2)
    ending.first_word_ms = first_word_ms
    return Answered(
        answer=outcome.said,
        remark=outcome.remark,
        abstained=outcome.abstained,
        reason=outcome.reason,
        confidence=None if outcome.confidence is None else round(outcome.confidence, 4),
        route=outcome.route,
        domain=outcome.domain,
        entity=outcome.entity.name if outcome.entity else run.identified,
        citations=list(outcome.citations),
        degraded=_degraded(run, admitted, ending),
        timings_ms={**run.timings_ms, "first_word": first_word_ms, "total": total_ms},
        trace_id=run.trace_id,
        session_id=admitted.session.session_id,
        explanation=run.explain.to_explanation(thresholds, ending.calls.kept or ()),
        model_usage=ModelUsage(
            calls=ending.calls.count,
            prompt_tokens=ending.calls.prompt_tokens,
            completion_tokens=ending.calls.completion_tokens,
        ),
        looked_at=run.looked_at,
        advice=advised,
        transcript=run.transcript,
        speech=speech,
        verification=outcome.verification,
        closest=outcome.closest,
    )
