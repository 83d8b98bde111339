"""An execution of one pipeline in memory, and a wired gateway, both without HTTP."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from chassis.resilience.deadlines import Clock, Deadline
from chassis.telemetry.metrics import Metrics
from contracts.answer import Answer, Experiment
from gateway.pipelines.port import Pipeline
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import load_latencies
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.run import ignore_events
from gateway.serving.admission import Admission
from gateway.serving.execution import Execution, Tier
from gateway.serving.question import Question
from gateway.serving.stores import Sessions, Traces
from gateway.settings import GatewaySettings
from gateway.state import Photo
from gateway.store import MemoryStore
from gateway.wiring import Gateway, wire

PHOTO = Photo(b"jpeg", 8, 8, "0" * 64)


def execution_of(
    pipeline: Pipeline, clock: Clock = time.monotonic, sessions: Sessions | None = None, **options: Any
) -> Execution:
    """Return an execution with sessions and traces in memory; `options` are those of `Execution`."""
    planner = Planner(Plan(), Estimates(load_latencies("lite"), clock))
    tiers = [Tier(Admission(4, 0, clock), planner)]
    sessions = sessions or Sessions(MemoryStore())
    return Execution({pipeline.name: pipeline}, sessions, Traces(5), tiers, **options)


async def answer_of(
    execution: Execution,
    text: str = "Which?",
    experiment: dict[str, Any] | None = None,
    deadline_ms: int = 60_000,
    clock: Clock = time.monotonic,
) -> Answer:
    """Ask the execution's only pipeline."""
    (name,) = execution.pipelines
    varied = None if experiment is None else Experiment.model_validate(experiment)
    question = Question(text, PHOTO, None, deadline_ms, name, experiment=varied)
    admitted = await execution.admit(question)
    return await execution.answer(admitted, "a" * 32, Deadline.after_ms(deadline_ms, clock), ignore_events)


@asynccontextmanager
async def wired_gateway(**settings: Any) -> AsyncIterator[Gateway]:
    """The gateway of these settings."""
    async with wire(GatewaySettings(**settings), Metrics("gateway")) as gateway:
        yield gateway
