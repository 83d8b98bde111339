"""One request's run: each stage timed, traced and held to its budget; optional ones may fail alone."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar, TypeVarTuple

import anyio
import structlog
from anyio.abc import TaskGroup

from chassis.deadlines import Deadline
from chassis.errors import DeadlineExceeded, Internal, LoreglassError
from contracts.answer import StageEvent, StageTrace
from contracts.errors import ErrorKind
from gateway.budget.stages import STAGE_BUDGETS, Stage

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
OnStage = Callable[[StageEvent], Awaitable[None]]

DONE, FAILED, CANCELLED, SKIPPED = "done", "failed", "cancelled", "skipped"

log = structlog.get_logger()


@asynccontextmanager
async def side_by_side() -> AsyncIterator[TaskGroup]:
    """A task group for stages that run beside the body; the body's error comes out as it was raised."""
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except Exception as error:  # noqa: BLE001 - raised below: the group would wrap it
            failure = error
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def ignore_stage(_: StageEvent) -> None:
    """For callers that do not listen."""


class Run:
    """The record of one request. Stages that run side by side may share it: it only ever appends."""

    def __init__(self, trace_id: str, deadline: Deadline, on_stage: OnStage = ignore_stage) -> None:
        self.trace_id = trace_id
        self.deadline = deadline
        self.stages: list[StageTrace] = []
        self.failures: dict[Stage, ErrorKind] = {}
        self._on_stage = on_stage
        self._started = time.monotonic()

    @property
    def timings_ms(self) -> dict[str, float]:
        """Milliseconds by stage, of those that ran."""
        return {stage.stage: stage.ms for stage in self.stages if stage.state != SKIPPED}

    @property
    def degraded(self) -> list[str]:
        """The optional stages that did not deliver, in the order they failed."""
        return [stage.value for stage in self.failures]

    def elapsed_ms(self) -> float:
        """Milliseconds since the run began."""
        return (time.monotonic() - self._started) * 1000

    async def required(
        self, stage: Stage, work: Callable[[*Arguments, Deadline], Awaitable[T]], *arguments: *Arguments
    ) -> T:
        """`await work(*arguments, deadline)`, where the deadline is the stage's own.

        Raises the work's `LoreglassError`, `DeadlineExceeded`, or `Internal` for a fault of ours.
        """
        budget = STAGE_BUDGETS[stage]
        deadline = self.deadline.within(budget.cap, budget.reserve)
        began = self.elapsed_ms()
        state, detail = CANCELLED, ""
        try:
            deadline.require()
            with anyio.fail_after(deadline.remaining_s()):
                result = await work(*arguments, deadline)
            state = DONE
            return result
        except TimeoutError as error:
            state, detail = FAILED, ErrorKind.DEADLINE_EXCEEDED.value
            raise DeadlineExceeded(f"The stage {stage.value} did not finish in time.") from error
        except LoreglassError as error:
            state, detail = FAILED, error.kind.value
            raise
        except Exception as error:
            state, detail = FAILED, ErrorKind.INTERNAL.value
            log.exception("stage_fault", stage=stage.value, trace_id=self.trace_id)
            raise Internal from error
        finally:
            await self._record(stage, state, began, detail)

    async def optional(
        self,
        stage: Stage,
        work: Callable[[*Arguments, Deadline], Awaitable[T]],
        *arguments: *Arguments,
        otherwise: T,
    ) -> T:
        """A stage that the answer can do without; when it fails, it is named in `degraded`."""
        try:
            return await self.required(stage, work, *arguments)
        except LoreglassError as error:
            self.failures[stage] = error.kind
            return otherwise

    def ahead(
        self,
        group: TaskGroup,
        stage: Stage,
        work: Callable[[*Arguments, Deadline], Awaitable[T]],
        *arguments: *Arguments,
        otherwise: T,
    ) -> "Ahead[T]":
        """Start an optional stage now, beside what follows."""
        started: Ahead[T] = Ahead(otherwise)
        group.start_soon(started.run, lambda: self.optional(stage, work, *arguments, otherwise=otherwise))
        return started

    async def _record(self, stage: Stage, state: str, began: float, detail: str) -> None:
        ms = round(self.elapsed_ms() - began, 2)
        self.stages.append(
            StageTrace(stage=stage.value, state=state, start_ms=round(began, 2), ms=ms, detail=detail)
        )
        if state != CANCELLED:  # a cancelled task must not wait for a listener
            await self._on_stage(StageEvent(stage=stage.value, state=state, ms=ms))


class Ahead(Generic[T]):
    """A result that is being worked out beside other stages."""

    def __init__(self, otherwise: T) -> None:
        self._value = otherwise
        self._finished = anyio.Event()
        self._scope = anyio.CancelScope()

    async def run(self, work: Callable[[], Awaitable[T]]) -> None:
        """The body of the background task."""
        try:
            with self._scope:
                self._value = await work()
        finally:
            self._finished.set()

    async def result(self) -> T:
        """Wait for it; after `cancel`, what was to be used otherwise."""
        await self._finished.wait()
        return self._value

    def cancel(self) -> None:
        """Stop it: nobody will ask for the result."""
        self._scope.cancel()
