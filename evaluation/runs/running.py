"""One system asked one dataset, from the first question, or from where it stopped, to the last."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from evaluation.data.model import Dataset
from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.asking import Asking, Interview
from evaluation.runs.gateway import Gateway
from evaluation.runs.patience import Patience, RunStopped
from evaluation.runs.store import Run, RunStore, load_run

OnRecord = Callable[[TurnRecord], Awaitable[None]]


async def nothing(_: TurnRecord) -> None:
    """For those who do not watch."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be asked, how, and where it is kept. `name`: the system's in reports. `choice`: how the
    dataset's conversations were chosen (`limit`, `seed`, `squad`), for the header.
    """

    dataset: Dataset
    folder: Path
    asking: Asking
    name: str = ""
    choice: Mapping[str, Any] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """How many questions there are."""
        return sum(len(conversation.turns) for conversation in self.dataset.conversations)


@dataclass(frozen=True, slots=True)
class Made:
    """A run after an attempt at it. `stopped`: why it is not complete; `refused`: the gateway takes no
    experiments, so the answers come without explanations.
    """

    run: Run
    asked: int
    stopped: RunStopped | None = None
    refused: bool = False


async def make_run(
    task: Task,
    gateway: Gateway,
    *,
    on_record: OnRecord = nothing,
    patience: Patience | None = None,
) -> Made:
    """Ask what has not been answered yet, and keep it; `on_record` is told of all that is kept.

    Raises `RunError` and `GatewayRefuses` before anything is asked.
    """
    gateway.require(task.asking.pipeline)
    with RunStore.resume(task.folder, _header(task, gateway), task.dataset.rejected) as store:
        if task.name:
            store.rewrite_header(name=task.name)
        known = {record.interaction_id: record for record in store.records}
        for record in store.records:
            await on_record(record)
        one_at_a_time = anyio.CapacityLimiter(1)

        async def keep(record: TurnRecord) -> None:
            try:
                await anyio.to_thread.run_sync(store.add, record, limiter=one_at_a_time)
            except OSError as error:
                raise RunStopped(f"Answers cannot be kept in {task.folder}: {error.strerror}.") from error
            await on_record(record)

        interview = Interview(gateway.client, task.asking, keep, known, patience)
        stopped = None
        try:
            await interview.ask_all(task.dataset.conversations)
        except RunStopped as reason:
            stopped = reason
        refused = task.asking.explain and not interview.questioner.explains
        run = load_run(task.folder)
        if not stopped:
            store.rewrite_header(explained=run.header.explained)
        return Made(run, len(run.records) - len(known), stopped, refused)


def _header(task: Task, gateway: Gateway) -> RunHeader:
    asking = task.asking
    return RunHeader(
        name=task.name or asking.pipeline or "loreglass",
        dataset=task.dataset.name,
        fingerprint=task.dataset.fingerprint,
        pipeline=asking.pipeline,
        gateway=gateway.url,
        version=gateway.version,
        started_at=time.time(),
        deadline_ms=asking.deadline_ms,
        limit=task.choice.get("limit"),
        seed=task.choice.get("seed"),
        thresholds=dict(asking.thresholds),
        without=list(asking.without),
        rejected=task.dataset.rejections,
        settings={
            "explain": asking.explain,
            "model_calls": asking.model_calls,
            "concurrency": asking.concurrency,
            "squad": task.choice.get("squad"),
        },
    )
