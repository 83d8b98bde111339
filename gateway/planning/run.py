"""One request's run: each stage timed, traced and held to its budget; optional ones may fail alone."""

import asyncio
from asyncio import TaskGroup
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import structlog

from chassis.errors import UNAVAILABLE, DeadlineExceeded, Internal, LoreglassError
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.spans import span
from contracts.answer import (
    IdentifiedEvent,
    LookedAt,
    LookedAtKind,
    StageEvent,
    StageTrace,
    TranscriptEvent,
)
from contracts.errors import ErrorKind
from gateway.planning.explaining import SILENT, Explaining
from gateway.planning.latencies import ONE, Work
from gateway.planning.plan import Plan
from gateway.planning.planner import FixedPlan
from gateway.planning.prefetch import WAITED, Prefetch, Waited
from gateway.planning.stages import FALLBACK_STAGE, MOST_RESERVED, STAGE_BUDGETS, USUAL_DEADLINE_MS, Stage
from gateway.state import Box

T = TypeVar("T")
RunEvent = StageEvent | TranscriptEvent | IdentifiedEvent
OnEvent = Callable[[RunEvent], Awaitable[None]]

DONE, FAILED, CANCELLED, SKIPPED = "done", "failed", "cancelled", "skipped"
_MOST_LOOKED_AT = 64
_LOOKED_AT_CHARS = 200
_ITEMS, _BY_MODEL, _STATE = "loreglass.items", "loreglass.by_model", "loreglass.state"

log = structlog.get_logger()


async def ignore_events(_: RunEvent) -> None:
    """For callers that do not listen."""


class Run:
    """The record of one request. Stages that run side by side may share it: it only ever appends.

    `pace`: how many times the usual deadline the question was given, at least 1; caps are stretched by it.
    `explain`: where stages tell those who measure what they came to; silent unless that was asked for.
    """

    def __init__(
        self,
        trace_id: str,
        deadline: Deadline,
        on_event: OnEvent = ignore_events,
        planning: FixedPlan | None = None,
        explain: Explaining = SILENT,
    ) -> None:
        self.trace_id = trace_id
        self.deadline = deadline
        self.pace = max(1.0, deadline.remaining_ms() / USUAL_DEADLINE_MS)
        self.stages: list[StageTrace] = []
        self.failures: dict[Stage, ErrorKind] = {}
        self.planning = planning or FixedPlan()
        self.explain = explain
        self.looked_at: list[LookedAt] = []
        self.identified: str | None = None
        self.identified_ms: float | None = None
        self.transcript: str | None = None
        self.in_hand: object | None = None
        self._on_event = on_event
        self._started = deadline.clock()
        self._ended: set[Stage] = set()
        self._degraded: dict[str, None] = {}

    @property
    def plan(self) -> Plan:
        """Return what may still be done, as of now."""
        return self.planning.plan

    @property
    def timings_ms(self) -> dict[str, float]:
        """Milliseconds by stage, of those that ran; of all its runs together where one ran again."""
        spent: dict[str, float] = {}
        for stage in self.stages:
            if stage.state != SKIPPED:
                spent[stage.stage] = round(spent.get(stage.stage, 0.0) + stage.ms, 2)
        return spent

    @property
    def degraded(self) -> list[str]:
        """The names of stages that failed and of the plan's cuts, in their order."""
        return list(self._degraded)

    def elapsed_ms(self) -> float:
        """Milliseconds since the run began."""
        return (self.deadline.clock() - self._started) * 1000

    async def begin(self, *, waited: bool = False) -> None:
        """The question has been let in, at once or when its turn came: choose the first plan."""
        if waited:
            await self.record(Stage.ADMISSION, DONE, 0.0, "")
        else:
            self.planning.revise(self.deadline.remaining_ms(), self._ended, self.elapsed_ms())
            if self._on_event is not ignore_events:
                await self._tell(Stage.ADMISSION, DONE, 0.0)

    @asynccontextmanager
    async def stage(
        self, stage: Stage, size: Work = ONE, fallback_ms: float = 0.0
    ) -> AsyncIterator[Deadline]:
        """Time, trace and bound the body, which is given the stage's own deadline.

        `size`: how much work it is, for the estimate of its time; what is not likely to end in time is not
        begun. `fallback_ms`: kept for a fallback, beside what the stage's budget keeps. Raises the body's
        `LoreglassError`, `DeadlineExceeded`, or `Internal` for a fault of ours.
        """
        began, by_model, waited = self.elapsed_ms(), self.planning.asks_model(stage), Waited()
        budget, left_ms = STAGE_BUDGETS[stage], self.deadline.remaining_ms()
        reserve_ms = min(budget.reserve + fallback_ms, left_ms * MOST_RESERVED)
        deadline = self.deadline.within(budget.cap * self.pace, reserve_ms)
        state, detail = CANCELLED, ""
        attributes = {_ITEMS: size.items, _BY_MODEL: by_model and self.planning.has_model(stage)}
        with span(f"stage {stage.value}", attributes) as work:
            try:
                deadline.require()
                if not self.planning.fits(stage, size, left_ms - reserve_ms, by_model=by_model):
                    raise DeadlineExceeded(f"The stage {stage.value} would not finish in time.")
                self.note_cuts(stage)
                token = WAITED.set(waited)
                try:
                    async with asyncio.timeout(deadline.remaining_s()):
                        yield deadline
                finally:
                    WAITED.reset(token)
                own_ms = self.elapsed_ms() - began - waited.ms
                self.planning.observe(stage, size, own_ms, by_model=by_model)
                state = DONE
            except Exception as error:
                raised = self._failure(stage, error)
                state, detail = FAILED, raised.kind.value
                if raised is error:
                    raise
                raise raised from error
            finally:
                work.set_attribute(_STATE, state)
                await self.record(stage, state, began, detail)

    def _failure(self, stage: Stage, error: Exception) -> LoreglassError:
        if isinstance(error, LoreglassError):
            return error
        if isinstance(error, TimeoutError):
            return DeadlineExceeded(f"The stage {stage.value} did not finish in time.")
        log.error("stage_fault", stage=stage.value, trace_id=self.trace_id, exc_info=error)
        return Internal()

    @asynccontextmanager
    async def optional(self, stage: Stage) -> AsyncIterator[None]:
        """Around a stage that the answer can do without: its failure ends here, named in `degraded`."""
        try:
            yield
        except LoreglassError as error:
            self.note_failure(stage, error)

    @asynccontextmanager
    async def required(self, stage: Stage, size: Work = ONE) -> AsyncIterator[Deadline]:
        """Run a stage of a model without a fallback: its failure is noted in `degraded` and raised."""
        try:
            async with self.stage(stage, size) as deadline:
                yield deadline
        except UNAVAILABLE as error:
            self.note_failure(stage, error)
            raise

    async def with_fallback(
        self,
        stage: Stage,
        model: Callable[[Deadline], Awaitable[T]],
        fallback: Callable[[Deadline], Awaitable[T]] | None,
        size: Work = ONE,
    ) -> T:
        """Return what `model` does in a stage; what `fallback` does if the model is slow, busy or away.

        The model leaves time for its fallback. Without a fallback the model's failure is noted and raised;
        faults of ours are raised in any case.
        """
        if fallback is None:
            async with self.required(stage, size) as deadline:
                return await model(deadline)
        if self.plan.by_model(stage):
            try:
                async with self.stage(stage, size, self.planning.fallback_ms(stage)) as deadline:
                    return await model(deadline)
            except UNAVAILABLE as error:
                self.note_failure(stage, error)
        else:
            await self.skip(stage)
        async with self.stage(FALLBACK_STAGE[stage]) as deadline:
            return await fallback(deadline)

    def fallbacks(self, stage: Stage) -> int:
        """Return how many times the fallback did the work of `stage`."""
        return sum(each.stage == FALLBACK_STAGE[stage].value for each in self.stages)

    async def skip(self, stage: Stage) -> None:
        """Note that the plan leaves this stage out."""
        if not self.note_cuts(stage):
            self._degraded[stage.value] = None
        await self.record(stage, SKIPPED, self.elapsed_ms(), "")

    def spare(self, stage: Stage) -> None:
        """Plan without a stage that this question does not need."""
        self._ended.add(stage)
        self.planning.revise(self.deadline.remaining_ms(), self._ended, self.elapsed_ms(), stage.value)

    def keep(self, outcome: object) -> None:
        """Keep the pipeline's outcome that stands if time ends now; a later one replaces it."""
        self.in_hand = outcome

    def did_less(self, name: str) -> None:
        """Note in `degraded` that a stage did less than there was to do."""
        self._degraded[name] = None

    def look_at(self, kind: LookedAtKind, place: Box, text: str = "") -> None:
        """Note a region of the photo that was looked at; only so many are told."""
        if len(self.looked_at) < _MOST_LOOKED_AT:
            left, top, right, bottom = in_shares(place)
            self.looked_at.append(
                LookedAt(
                    kind=kind, left=left, top=top, right=right, bottom=bottom, text=text[:_LOOKED_AT_CHARS]
                )
            )

    async def tell_transcript(self, words: str) -> None:
        """Send the words of a spoken question; "" if the recording has none."""
        self.transcript = words
        await self._on_event(TranscriptEvent(text=words))

    async def tell_identified(self, name: str) -> None:
        """Send the name of the thing in the photo, which is certain, before there is an answer."""
        self.identified, self.identified_ms = name, self.elapsed_ms()
        await self._on_event(IdentifiedEvent(entity=name, sentence=f"This is {name}."))

    def prefetch(
        self, group: TaskGroup, work: Callable[[], Coroutine[Any, Any, T]], default: T, *, now: bool = True
    ) -> Prefetch[T]:
        """Begin `work` beside what follows; not `now`: when its result is asked for."""
        prefetch = Prefetch(work, default, self.deadline.clock)
        if now:
            prefetch.start(group)
        return prefetch

    def note_failure(self, stage: Stage, error: LoreglassError) -> None:
        """Note that the answer does without this stage."""
        self.failures[stage] = error.kind
        self._degraded[stage.value] = None

    def note_cuts(self, stage: Stage) -> bool:
        """Note the plan's cuts of a stage whose turn has come. Return whether there are any.

        A step that was to be the model's, and is not, is named itself.
        """
        names = dict.fromkeys(cut.name for cut in self.planning.cuts_at(stage))
        if not names and self.planning.spares_model(stage):
            names = {stage.value: None}
        self._degraded.update(names)
        return bool(names)

    async def record(self, stage: Stage, state: str, began: float, detail: str) -> None:
        """A stage that began at `began`, milliseconds into the run, is over; plan what is left."""
        ms = round(self.elapsed_ms() - began, 2)
        self.stages.append(
            StageTrace(stage=stage.value, state=state, start_ms=round(began, 2), ms=ms, detail=detail)
        )
        if state == CANCELLED:
            return
        self._ended.add(stage)
        self.planning.revise(self.deadline.remaining_ms(), self._ended, self.elapsed_ms(), stage.value)
        if self._on_event is not ignore_events:
            await self._tell(stage, state, ms)

    async def _tell(self, stage: Stage, state: str, ms: float) -> None:
        left_ms = round(self.deadline.remaining_ms(), 2)
        await self._on_event(StageEvent(stage=stage.value, state=state, ms=ms, left_ms=left_ms))


def in_shares(place: Box) -> Box:
    """Return a region's edges, each in 0..1, as they are sent."""
    left, top, right, bottom = (round(min(max(edge, 0.0), 1.0), 4) for edge in place)
    return left, top, right, bottom
