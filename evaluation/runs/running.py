"""Make a run: ask one system one data set, from the start or from where it stopped."""

import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from pydantic import BaseModel

from chassis.errors import LoreglassError as ServiceError
from chassis.http.calls import ServiceClient, http_client
from chassis.resilience.deadlines import Deadline
from evaluation.data.model import Dataset, Text
from evaluation.data.progress import counter, in_parallel
from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.asking import Asking, Interview, Questioner, RunStopped
from evaluation.runs.store import Run, RunError, RunStore, load_run
from loreglass_client import AsyncLoreglass, LoreglassError, Retries
from loreglass_client.errors import Unauthorized

_PATIENCE_MS = 15_000


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that is up. `pipelines`: names, in the gateway's order."""

    url: str
    version: str
    pipelines: tuple[str, ...]
    client: AsyncLoreglass

    def require(self, pipeline: str | None) -> None:
        """Check that the gateway has the pipeline. Raises `RunStopped`."""
        if pipeline is not None and pipeline not in self.pipelines:
            raise RunStopped(
                f"There is no pipeline {pipeline!r}; there are: {', '.join(self.pipelines)}. "
                "The pipelines of the papers need a language model at the gateway "
                "(LOREGLASS_GATEWAY_REASONING=vlm)."
            )


@asynccontextmanager
async def connect(url: str, key: str = "") -> AsyncIterator[Gateway]:
    """Connect to the gateway at that URL; close the connections afterwards. Raises `RunStopped`."""
    async with AsyncExitStack() as stack:
        try:  # how long a question is asked for is `Questioner`'s to say
            client = await stack.enter_async_context(AsyncLoreglass(url, key, retries=Retries(most=0)))
            pipelines = await client.pipelines()
        except Unauthorized as error:
            raise RunStopped(f"{error.detail} It is read from LOREGLASS_API_KEY.") from error
        except LoreglassError as error:
            where = "" if url in error.detail else f" ({url})"
            hint = "To ask another gateway, set --gateway or LOREGLASS_GATEWAY_URL."
            raise RunStopped(f"{error.detail}{where}\n{hint}") from error
        yield Gateway(url, await _version(url, key), pipelines, client)


class _Description(BaseModel):
    info: dict[str, Any]


async def _version(url: str, key: str) -> str:
    """Return the gateway's version; empty if it has none."""
    async with http_client() as http:
        try:
            description = await ServiceClient(http, "The gateway", url, token=key).get(
                "/openapi.json", _Description, Deadline.after_ms(_PATIENCE_MS)
            )
        except ServiceError:
            return ""
    return str(description.info.get("version", ""))


@dataclass(frozen=True, slots=True)
class Task:
    """The settings of one run. `name`: the system's in reports. `choice`: how the
    dataset's conversations were chosen (`limit`, `seed`, `squad`), for the header.
    """

    dataset: Dataset
    folder: Path
    asking: Asking
    name: str = ""
    choice: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """A run after an attempt at it. `stopped`: why it is not complete; `refused`: the gateway takes no
    experiments, so the answers come without explanations.
    """

    run: Run
    asked: int
    stopped: RunStopped | None = None
    refused: bool = False


async def make_run(task: Task, gateway: Gateway) -> Made:
    """Ask the remaining questions, and store the answers.

    Raises `RunError` and `RunStopped` before anything is asked.
    """
    gateway.require(task.asking.pipeline)
    turns = sum(len(conversation.turns) for conversation in task.dataset.conversations)
    with (
        RunStore(task.folder, _header(task, gateway), task.dataset.rejected) as store,
        counter(task.name or "questions", turns) as bar,
    ):
        if task.name:
            store.rewrite_header(name=task.name)
        known = {record.interaction_id: record for record in store.records}
        bar.update(len(known))
        one_at_a_time = anyio.CapacityLimiter(1)

        async def keep(record: TurnRecord) -> None:
            try:
                await anyio.to_thread.run_sync(store.add, record, limiter=one_at_a_time)
            except OSError as error:
                raise RunStopped(f"Answers cannot be kept in {task.folder}: {error.strerror}.") from error
            bar.update()

        questioner, stopped = Questioner(task.asking.experiment), None
        interview = Interview(gateway.client, task.asking, questioner, keep, known)
        placed = enumerate(task.dataset.conversations)
        try:
            await in_parallel(placed, interview.converse, task.asking.concurrency)
        except RunStopped as reason:
            stopped = reason
        run = load_run(task.folder)
        if not stopped:
            store.rewrite_header(explained=run.header.explained)
        return Made(run, len(run.records) - len(known), stopped, refused=not questioner.explains)


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
            "model_calls": asking.model_calls,
            "concurrency": asking.concurrency,
            "squad": task.choice.get("squad"),
        },
    )


_LEFT_OUT = "-no-"


@dataclass(frozen=True, slots=True)
class System:
    """A pipeline as it is asked. `without`: the modules that each question is answered without; `at`: the
    name of the gateway, empty for the one that is asked anyhow.
    """

    pipeline: str
    without: tuple[str, ...] = ()
    at: str = ""

    @classmethod
    def named(cls, name: str) -> "System":
        """Parse a name in reports: `cot-no-x@tuned` is `cot` without `x` at the gateway `tuned`."""
        plain, _, at = name.partition("@")
        pipeline, *without = plain.split(_LEFT_OUT)
        return cls(pipeline, tuple(without), at)


async def ask_several(
    dataset: Dataset,
    folder: Path,
    systems: Sequence[str],
    asking: Asking,
    gateway: Gateway,
    choice: Mapping[str, Any],
) -> list[Run]:
    """Complete each system's run in `folder`/<its name>.

    What was asked before is not asked again. One at a time, so that no system waits for another's questions.
    Raises `RunStopped` and `RunError`; what has been answered until then is kept.
    """
    runs = []
    for name in systems:
        system = System.named(name)
        options = replace(asking, pipeline=system.pipeline, without=(*asking.without, *system.without))
        task = Task(dataset, folder / name, options, name, choice)
        made = await make_run(task, gateway)
        if made.stopped:
            raise made.stopped
        runs.append(made.run)
    return runs


PAGES = "pages.jsonl"


def write_pages(texts: Iterable[Text], folder: Path) -> Path:
    """Write the pages into the run's folder, and return the file. Raises `RunError`."""
    path = folder / PAGES
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(asdict(each)) + "\n" for each in texts), encoding="utf-8")
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}.") from error
    return path
