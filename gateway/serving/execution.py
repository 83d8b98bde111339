"""Answers a question: admit it, run a pipeline within its deadline, remember the turn, reply."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
from opentelemetry.trace import get_current_span

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
from contracts.answer import MemoryInput, Reason, Route, Verification
from gateway.pipelines.port import PAPER_PIPELINES, Pipeline, vary, with_thresholds
from gateway.planning.estimates import Estimates
from gateway.planning.explaining import SILENT, Explaining
from gateway.planning.plan import Plan
from gateway.planning.planner import FixedPlan, LivePlan, Planner
from gateway.planning.run import OnEvent, Run
from gateway.planning.stages import REPLY_RESERVE_MS, Stage
from gateway.reasoning.port import counting_calls
from gateway.serving.admission import Admission
from gateway.serving.memory import Memory
from gateway.serving.metrics import GatewayMetrics, OnEnd
from gateway.serving.question import (
    SPOKEN_CHARS,
    Admitted,
    AnswerWithRemark,
    Progress,
    Question,
    advice,
    in_words,
    to_answer,
    to_record,
)
from gateway.serving.stores import Session, Sessions, Traces, new_session_id
from gateway.serving.voice import NO_VOICE, Voice, with_words
from gateway.settings import GatewaySettings
from gateway.state import GenerationBudget, Query, Turn, Unverified, reason_of
from gateway.steps.conclusion import (
    Outcome,
    in_the_askers_language,
    refusal,
    refuse,
    with_caution,
)
from gateway.steps.memory import sighting_of
from gateway.thresholds import LITE_LIMITS, RetrievalLimits, Thresholds

LEAST_SHARE = 0.5
"""A question that waits may keep at least this share of its time waiting; it may be short of time anyway."""
HoldsAnything = Callable[[Deadline], Awaitable[bool]]
_LOOK_MS = 500
"""The longest that a refusal waits for whether there is an index at all."""


@dataclass(frozen=True, slots=True)
class Tier:
    """A queue, and the planner of the questions that it admits."""

    admission: Admission
    planner: Planner


def open_tiers(
    settings: GatewaySettings, has_fallback: bool, estimates: Estimates, meters: GatewayMetrics
) -> list[Tier]:
    """Return the tiers, in the order in which a question tries them: degrade before shed."""
    generation = GenerationBudget(evidence_chars=settings.vlm_evidence_chars)
    planner = Planner(Plan.full(RetrievalLimits() if has_fallback else LITE_LIMITS, generation), estimates)
    full = Tier(meters.open_admission("full", settings.max_in_flight, settings.max_waiting), planner)
    if not has_fallback:
        return [full]
    degraded = meters.open_admission("degraded", settings.max_in_flight, 0)
    return [full, Tier(degraded, planner.without_model())]


@dataclass(slots=True)
class Execution:
    """Answers questions with the named pipelines, as many at once as the tiers admit.

    `tiers`: a question that one refuses tries the next, which does less (degrade before shed). `on_end` is
    called once for each question, however it ended. `holds_anything`: whether the searches have an index;
    without it no refusal says that there is none. `scope_of`: the scope in which services work for a tenant.
    `memory`: None where the operator has not switched it on.
    """

    pipelines: Mapping[str, Pipeline]
    sessions: Sessions
    traces: Traces
    tiers: Sequence[Tier]
    on_end: OnEnd = lambda _record: None
    holds_anything: HoldsAnything | None = None
    voice: Voice = NO_VOICE
    scope_of: Callable[[str], str] = lambda _: ""
    unverified: Unverified = Unverified.REFUSE
    memory: Memory | None = None

    async def admit(self, question: Question) -> Admitted:
        """Find the question's pipeline and session, before any work is done.

        Raises `PipelineNotFound`, `InvalidRequest`, `NotConfigured` (no model) or `SessionNotFound`.
        """
        name, session_id = question.pipeline, question.session_id
        if name not in self.pipelines and name in PAPER_PIPELINES:
            raise NotConfigured(
                f"The pipeline {name} needs a vision-language model, and none is set up here. "
                "Start with `loreglass serve --model-url URL`, or set LOREGLASS_GATEWAY_REASONING=vlm, "
                "LOREGLASS_GATEWAY_VLM_URL and LOREGLASS_GATEWAY_VLM_MODEL, or ask without `pipeline`."
            )
        if name not in self.pipelines:
            names = ", ".join(sorted(self.pipelines))
            raise PipelineNotFound(f"There is no pipeline of this name. There are: {names}.")
        pipeline = vary(self.pipelines[name], question.experiment)
        # A new session is stored with its first turn: a question that is refused leaves none.
        if session_id is None:
            return Admitted(question, pipeline, question.conversation or Session(new_session_id()))
        try:
            session = await self.sessions.get(session_id, question.caller.tenant)
        except SessionNotFound:
            if not question.opens_session:
                raise
            session = Session(session_id)
        return Admitted(question, pipeline, session)

    async def answer(
        self, admitted: Admitted, trace_id: str, deadline: Deadline, on_event: OnEvent
    ) -> AnswerWithRemark:
        """Return the answer; store a trace in any case.

        Raises `Overloaded` if no tier admits the question, or what a required stage raised.
        """
        question = admitted.question
        experiment = question.experiment
        explain = Explaining() if experiment and experiment.explain else SILENT
        keep_calls = experiment is not None and experiment.model_calls
        run = Run(trace_id, deadline, on_event, explain=explain)
        with counting_calls(keep=keep_calls) as calls, scoped(self.scope_of(question.caller.tenant)):
            progress = Progress(admitted, run, calls)
            try:
                query, outcome = await self._run(admitted, run)
                progress.outcome = outcome
                await self._remember(admitted, query, outcome, run)
                further = advice(outcome, query, run.looked_at)
                closest = in_words(outcome, query.question, SPOKEN_CHARS)
                words = f"{outcome.text} {closest} {further}"
                speech = await self.voice.address(words, question.caller, run)
                progress.reply = to_answer(progress, outcome, further, speech)
                return progress.reply
            except Exception as error:
                problem = error if isinstance(error, LoreglassError) else Internal()
                progress.failure = problem_of(problem, trace_id)
                raise
            finally:
                self._end(progress)

    def use_thresholds(self, thresholds: Thresholds) -> None:
        """Answer with other thresholds from now on; a question on its way keeps those that it began with."""
        self.pipelines = {
            name: with_thresholds(pipeline, thresholds) for name, pipeline in self.pipelines.items()
        }

    async def _run(self, admitted: Admitted, run: Run) -> tuple[Query, Outcome]:
        """Return the query in words, and its outcome by the first tier that admits it.

        Raises the last tier's `Overloaded` if all are full.
        """
        question, query = admitted.question, admitted.question.to_query(admitted.session)
        if question.memory is not None and self.memory is not None:
            recall = self.memory.recall(question.memory, question.caller.tenant)
            query = replace(query, recall=recall)
        only_full = admitted.pipeline.stage_graph.needs_model or not question.is_planned
        tiers = self.tiers[:1] if only_full else self.tiers
        for tier in tiers:
            try:
                outcome = await self._run_when_admitted(tier, admitted, query, run)
                break
            except Overloaded:
                if tier is tiers[-1]:
                    raise
        query = with_words(query, run.transcript)
        return query, in_the_askers_language(outcome, query.question)

    async def _run_when_admitted(self, tier: Tier, admitted: Admitted, query: Query, run: Run) -> Outcome:
        """Return a refusal if the deadline ends before the question is admitted."""
        caller, graph, admission = admitted.question.caller, admitted.pipeline.stage_graph, tier.admission
        least_ms, waits = 0.0, admission.full
        if waits:
            smallest_ms = tier.planner.least_ms(admission.in_flight, graph)
            least_ms = min(smallest_ms, LEAST_SHARE * run.deadline.remaining_ms())
        try:
            async with admission.admit(caller.tenant, caller.priority, run.deadline, least_ms):
                if admitted.question.is_planned:
                    run.planning = LivePlan(tier.planner, graph, admission)
                else:
                    run.planning = FixedPlan(tier.planner.full)
                await run.begin(waited=waits)
                sound = admitted.question.sound
                words = query if sound is None else await self.voice.transcribe(query, sound, run)
                if isinstance(words, Outcome):
                    return words
                outcome = await self._outcome(admitted.pipeline, words, run)
                outcome = with_caution(outcome, self.unverified, run.explain)
                return await self._explain_empty_index(outcome, run)
        except DeadlineExceeded:
            return refusal(Reason.OVERLOADED if waits else Reason.TIMED_OUT, Route.RAG)

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
            closest = run.in_hand.closest if isinstance(run.in_hand, Outcome) else None
            return refusal(reason_of(error.kind), Route.RAG, closest=closest)

    def _in_hand(self, run: Run) -> Outcome:
        """Return what the pipeline had when its time ended: an answer is unverified, and refused if the
        operator wants that. Signal: `withheld`, as for `with_caution`.
        """
        outcome = run.in_hand
        if not isinstance(outcome, Outcome):
            return refusal(Reason.TIMED_OUT, Route.RAG)
        if outcome.abstained:
            return outcome
        if self.unverified is Unverified.REFUSE:
            run.explain.signal("withheld", 1.0)
            return refuse(outcome, Reason.UNSUPPORTED)
        return replace(outcome, verification=Verification.UNVERIFIED)

    async def _explain_empty_index(self, outcome: Outcome, run: Run) -> Outcome:
        """If nothing was found because nothing is indexed, return a refusal that says so."""
        if outcome.reason is not Reason.NO_EVIDENCE or self.holds_anything is None:
            return outcome
        deadline = run.deadline.within(_LOOK_MS, REPLY_RESERVE_MS)
        try:
            with anyio.fail_after(deadline.remaining_s()):
                if await self.holds_anything(deadline):
                    return outcome
        except (TimeoutError, LoreglassError):
            return outcome
        return refusal(Reason.NOTHING_INDEXED, outcome.route, outcome.domain, outcome.entity)

    async def _remember(self, admitted: Admitted, query: Query, outcome: Outcome, run: Run) -> None:
        """Store the turn. An answer is not lost because its turn cannot be stored."""
        question, session = admitted.question, admitted.session
        if question.conversation is not None:
            return
        entity = outcome.entity and replace(outcome.entity, place=None)  # a later photo has other places
        turn = Turn(query.question, outcome.answer, outcome.abstained, entity)
        async with run.optional(Stage.SESSION), run.stage(Stage.SESSION):
            await self.sessions.append_turn(
                session.session_id, turn, question.photo, question.caller.tenant, create=not session.turns
            )
        if question.memory is not None:
            await self._remember_sighting(question.memory, admitted, query, outcome, run)

    async def _remember_sighting(
        self, consent: MemoryInput, admitted: Admitted, query: Query, outcome: Outcome, run: Run
    ) -> None:
        """Remember what the question's photo shows, if it is anything with a name or text."""
        question, session_id, photo = admitted.question, admitted.session.session_id, admitted.question.photo
        if self.memory is None:
            run.did_less(Stage.MEMORY.value)
        elif photo and (sighting := sighting_of(query, outcome, run, consent.place)):
            async with run.optional(Stage.MEMORY), run.stage(Stage.MEMORY) as deadline:
                await self.memory.add(consent, question.caller, session_id, sighting, photo, deadline)

    def _end(self, progress: Progress) -> None:
        """Store the trace and report the question."""
        record = to_record(progress)
        self.traces.add(record.trace, record.tenant)
        span = get_current_span()
        span.set_attribute("loreglass.pipeline", record.trace.pipeline)
        span.set_attribute("loreglass.route", record.route)
        span.set_attribute("loreglass.reason", record.reason)
        self.on_end(record)
