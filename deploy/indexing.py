"""Index what was uploaded, or the sample: one job at a time, which anyone may watch."""

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import structlog
from anyio.abc import TaskGroup
from pydantic import BaseModel

from chassis.errors import (
    CollectionConflict,
    DeadlineExceeded,
    Internal,
    InvalidRequest,
    LoreglassError,
    NotConfigured,
    NotFound,
    NotReady,
    problem_of,
)
from contracts.errors import Problem
from corpus.ingest import Index, IngestOptions, ingest_pages, ingest_photos
from corpus.pipeline import OnRecord, Outcome
from corpus.versions import Patience
from deploy.photographs import PAGES, are_installed, write_photographs
from deploy.settings import SAMPLE
from deploy.uploads import Uploads, has_files

MOST_S = 3600.0
UPLOADS, SAMPLE_NAME, PHOTOGRAPHS_NAME = "uploads", "sample", "photographs"
"""Names of the sources of uploaded files and of the sample's two parts, on every machine."""

log = structlog.get_logger()

Emit = Callable[[str, BaseModel], Awaitable[None]]


class StepEvent(BaseModel):
    """SSE `step`: what is being done now (`photos`, `pages`), and how many files it is about."""

    step: str
    files: int = 0


class FileEvent(BaseModel):
    """SSE `file`: a file's result; `reason` says why it was rejected, or what to know about it."""

    name: str
    outcome: Outcome
    reason: str = ""


class DoneEvent(BaseModel):
    """SSE `done`: the counts. With a `problem`, what waits still waits; indexing it again goes on."""

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    rejected: int = 0
    problem: Problem | None = None


class Job:
    """The events of one job so far."""

    def __init__(self) -> None:
        self.over = False
        self.counts = dict.fromkeys(Outcome, 0)
        self.scope = anyio.CancelScope()
        self._events: list[tuple[str, BaseModel]] = []
        self._news = anyio.Event()

    def tell(self, event: str, data: BaseModel) -> None:
        """Add an event, for those who follow."""
        self._events.append((event, data))
        self._news.set()
        self._news = anyio.Event()

    def add_record(self, where: str, outcome: Outcome, reason: str) -> None:
        """Count a file that is done, and add its event."""
        self.counts[outcome] += 1
        self.tell("file", FileEvent(name=where, outcome=outcome, reason=reason))

    async def follow(self, emit: Emit) -> None:
        """Emit every event from the first on, until the job is over."""
        place = 0
        while not self.over or place < len(self._events):
            if place == len(self._events):
                await self._news.wait()
            else:
                await emit(*self._events[place])
                place += 1


@dataclass(frozen=True, slots=True)
class Searches:
    """The search services: their URLs, their write token, and how calls are repeated."""

    image_search_url: str
    text_search_url: str
    ocr_url: str = ""
    patience: Patience = field(default_factory=Patience)
    token: str = field(default="", repr=False)

    def url(self, index: Index) -> str:
        return self.image_search_url if index is Index.IMAGES else self.text_search_url

    async def ingest(
        self,
        index: Index,
        source: Path,
        name: str,
        on_record: OnRecord,
        started: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Index a source under a name. Raises `ManifestError` and `LoreglassError`."""
        options = IngestOptions(
            name=name,
            started=started,
            on_record=on_record,
            patience=self.patience,
            ocr_url=self.ocr_url,
            token=self.token,
        )
        run = ingest_photos if index is Index.IMAGES else ingest_pages
        await run(source, self.url(index), options)


class Indexing:
    """Runs jobs in `group`, watched or not. Searches see an index only when it is complete (`corpus`)."""

    def __init__(
        self,
        uploads: Uploads,
        searches: Searches,
        group: TaskGroup,
        sample: Path = SAMPLE,
        most_s: float = MOST_S,
    ) -> None:
        self.uploads = uploads
        self.searches = searches
        self._group = group
        self.sample = sample
        self._most_s = most_s
        self._job: Job | None = None
        self._changes = 0

    @property
    def running(self) -> bool:
        return self._job is not None and not self._job.over

    @property
    def job(self) -> Job:
        """Return the job that runs or ran last. Raises `NotFound`."""
        if self._job is None:
            raise NotFound("Nothing was indexed here since the start.")
        return self._job

    @contextmanager
    def changing_uploads(self) -> Iterator[None]:
        """Hold off jobs during the body, so that no job reads the uploads while they change.

        Raises `CollectionConflict`.
        """
        self._require_idle()
        self._changes += 1
        try:
            yield
        finally:
            self._changes -= 1

    @contextmanager
    def changing_index(self) -> Iterator[None]:
        """Hold off other changes of an index during the body. Raises `CollectionConflict`."""
        self._require_idle()
        if self._changes:
            raise CollectionConflict("Something else is being changed; try again.", retry_after_s=1)
        with self.changing_uploads():
            yield

    async def start(self, *, sample: bool) -> None:
        """Begin. Raises `CollectionConflict`, `InvalidRequest` with no files."""
        if not sample and not await anyio.to_thread.run_sync(self.uploads.names):
            raise InvalidRequest("There is nothing to index; hand over photos or pages first.")
        self._require_idle()
        if self._changes:
            raise CollectionConflict("A file is on its way; wait until it is here.", retry_after_s=1)
        self._job = Job()
        work = self._index_sample if sample else self._index_uploads
        self._group.start_soon(self._run, self._job, work)

    def _require_idle(self) -> None:
        if self.running:
            raise CollectionConflict("Something is being indexed; wait until it is done.", retry_after_s=5)

    def stop(self) -> None:
        """Stop the job. Uploaded files stay."""
        if self._job is not None:
            self._job.scope.cancel()

    async def _run(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> None:
        problem: LoreglassError | None = None
        with job.scope:
            try:
                with anyio.fail_after(self._most_s):
                    await work(job)
            except TimeoutError:
                problem = DeadlineExceeded("It took too long and was stopped; index it again to go on.")
            except LoreglassError as error:
                problem = error
            except Exception as error:  # a job that fails must not take the platform with it
                log.error("indexing_failed", exc_info=error)
                problem = Internal()
        if job.scope.cancelled_caught:
            problem = NotReady("The platform was stopped; index what waits again to go on.")
        counts = {f"{outcome}": count for outcome, count in job.counts.items()}
        done = DoneEvent(**counts, problem=problem_of(problem) if problem else None)
        job.over = True
        job.tell("done", done)
        log.info("indexing_ended", **counts, problem=problem.kind if problem else None)

    async def _index_uploads(self, job: Job) -> None:
        for step, folder in (("photos", self.uploads.photos), ("pages", self.uploads.pages)):
            if await anyio.to_thread.run_sync(has_files, folder):
                await self._ingest(job, step, folder, UPLOADS)
                await anyio.to_thread.run_sync(self.uploads.clear, folder)

    async def _index_sample(self, job: Job) -> None:
        if not await anyio.Path(self.sample).is_dir():
            raise NotConfigured("The sample is not installed here. Use a checkout or the wheel of Loreglass.")
        await self._ingest(job, "photos", self.sample / "images.jsonl", SAMPLE_NAME)
        await self._ingest(job, "pages", self.sample / "pages.jsonl", SAMPLE_NAME)
        if self.sample == SAMPLE and are_installed():
            with tempfile.TemporaryDirectory() as folder:
                photos, _ = await anyio.to_thread.run_sync(write_photographs, Path(folder))
                await self._ingest(job, "photos", photos, PHOTOGRAPHS_NAME)
                await self._ingest(job, "pages", PAGES, PHOTOGRAPHS_NAME)

    async def _ingest(self, job: Job, step: str, source: Path, name: str) -> None:
        def started(files: int) -> None:
            job.tell("step", StepEvent(step=step, files=files))

        index = Index.IMAGES if step == "photos" else Index.PAGES
        await self.searches.ingest(index, source, name, job.add_record, started)
