"""Ingestion on Ray: one part after the other, each told to the version that it is in, and then published."""

import logging
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np

from chassis.errors import CollectionConflict, DependencyUnavailable
from chassis.http.calls import ServiceClient, http_client
from contracts.collections import Built
from corpus.cluster.jobs import Counts, Jobs, PartDone, Pools
from corpus.cluster.parts import Cut, Part, Sizes, cut_pages, cut_photos
from corpus.cluster.stages import KEY_BYTES, Embedder, Keys, Maker, Target
from corpus.ingest import IMAGES, PAGES, IngestOptions, IngestReport
from corpus.settings import RaySettings
from corpus.versions import Version

LOGICAL_CPUS = 6
"""Ray counts at least so many on this machine: on two, a run that went on after a kill did not end."""
OBJECTS_BYTES = 256 * 2**20
"""Of blocks on their way, on this machine; Ray holds back who makes them when it is full."""
SAMPLE = 20
"""Points that are looked up before readers are led to a version: each by a search through all of it."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`address` of a cluster, empty for a Ray of its own on this machine.

    `embedder`: opens a search service in each of the `streams` actors that write, which has `gpus` of a
    card; without one they send to the service at the address that ingestion has. `state`: a folder of this
    machine that holds the digests of what finished parts hold. `least_recall`: with less, readers keep
    the version that they have.
    """

    address: str = ""
    sizes: Sizes = field(default_factory=lambda: Sizes(1_000_000, 64))
    streams: int = 2
    gpus: float = 0.0
    embedder: Embedder | None = None
    state: Path = Path("var/ingestion")
    least_recall: float = 0.95


async def ingest_pages(
    source: Path, text_search_url: str, options: IngestOptions, cluster: ClusterOptions
) -> IngestReport:
    """As `corpus.ingest` does, with the same points. Raises `ManifestError` and `LoreglassError`."""
    cut = partial(cut_pages, source, cluster.sizes)
    return await _ingest(source, cut, (PAGES, text_search_url), options, cluster)


async def ingest_photos(
    source: Path, image_search_url: str, options: IngestOptions, cluster: ClusterOptions
) -> IngestReport:
    """The same for photos."""
    cut = partial(cut_photos, source, cluster.sizes)
    return await _ingest(source, cut, (IMAGES, image_search_url), options, cluster)


async def _ingest(
    source: Path,
    cut: Callable[[], Cut],
    index: tuple[str, str],
    options: IngestOptions,
    cluster: ClusterOptions,
) -> IngestReport:
    import ray

    parts = await anyio.to_thread.run_sync(cut)
    options.started(parts.records)
    alias, url = index
    target = Target(
        alias, url, options.token, parts.digest, options.replace, options.patience, cluster.embedder
    )
    async with http_client() as http:
        service = ServiceClient(http, target.service, url, token=options.token)
        version = Version(service, alias, options.patience)
        await version.open(parts.digest, replace=options.replace)
        with _ray(cluster.address) as (maker, cpus):
            pools = Pools(preparing=cpus, writing=cluster.streams, gpus=cluster.gpus)
            jobs = Jobs(Path(await anyio.Path(source).absolute()), target, pools, maker(target))
            run = _Run(version, jobs, cluster.state / version.name, options)
            try:
                for part in parts.parts:
                    await run.take(part)
            except ray.exceptions.RayError as error:
                raise DependencyUnavailable(f"Ray has failed: {type(error).__name__}.") from error
        return await run.end(cluster.least_recall)


class _Run:
    """The parts of one ingestion, and what has become of them."""

    def __init__(self, version: Version, jobs: Jobs, state: Path, options: IngestOptions) -> None:
        self._version, self._jobs, self._state, self._options = version, jobs, state, options
        self._counts = Counts()
        self._keys: list[Any] = []
        self._finished: list[str] = []

    async def take(self, part: Part) -> None:
        """Bring it into the index, unless an earlier run has. Raises `LoreglassError`."""
        import ray

        held = _read(self._state / f"{part.name}.npz") if part.name in self._version.finished else None
        if held is None:
            begun = self._counts.records
            run = partial(self._jobs.run, part, self._keys, lambda done: self._options.progress(begun + done))
            done = await anyio.to_thread.run_sync(run)
            await self._version.look()
            await self._require(done)
            _write(self._state / f"{part.name}.npz", done)
            held = done
        self._finished.append(part.name)
        await self._version.finish(self._finished)
        self._counts.add(held.counts)
        self._options.progress(self._counts.records)
        self._keys.append(ray.put(held.keys))

    async def _require(self, done: PartDone) -> None:
        if lacking := await self._version.missing(done.sample):
            raise CollectionConflict(f"The index lacks {len(lacking)} points that it has taken.")

    async def end(self, least_recall: float) -> IngestReport:
        """Publish, unless points are missing or are not found: then all parts are gone through again."""
        published = False
        if self._counts.indexed or self._counts.unchanged:
            try:
                published = await self._version.publish(
                    SAMPLE if least_recall else 0,
                    partial(require_found, self._counts.points, self._version.starts_empty, least_recall),
                )
            except CollectionConflict:
                await self._version.finish([])
                raise
        else:
            await self._version.abandon()
        for part in self._finished:
            (self._state / f"{part}.npz").unlink(missing_ok=True)
        with suppress(OSError):
            self._state.rmdir()
        return IngestReport(
            indexed=self._counts.indexed,
            unchanged=self._counts.unchanged,
            rejected=tuple(self._counts.named),
            version=self._version.name if published else None,
            not_named=self._counts.rejected - len(self._counts.named),
        )


def require_found(points: int, exactly: bool, least_recall: float, built: Built) -> None:
    """Raises `CollectionConflict` where an index lacks points, or searches do not find what is near.

    `exactly`: it holds nothing but the `points` that were written.
    """
    if built.points < points or (exactly and built.points != points):
        raise CollectionConflict(
            f"The new index holds {built.points:,} of {points:,} points; readers keep the old one."
        )
    if built.recall < least_recall:
        raise CollectionConflict(
            f"The new index finds {built.recall:.1%} of what is near; readers keep the old one."
        )


@contextmanager
def _ray(address: str) -> Iterator[tuple[Callable[[Target], Any], int]]:
    """Ray, up for as long as it is needed: what makes the actor that makes versions, and the processors."""
    settings = RaySettings.quiet()
    import ray
    import ray.data

    cpus = settings.cpus
    if address:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
        cpus = int(ray.cluster_resources().get("CPU", 1))
    else:
        ray.init(
            num_cpus=max(LOGICAL_CPUS, cpus),
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            object_store_memory=OBJECTS_BYTES,
            _node_ip_address="127.0.0.1",
        )
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # what fails is told by the report
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.max_errored_blocks = -1
    context.enable_progress_bars = False
    try:
        yield lambda target: ray.remote(num_cpus=0)(Maker).remote(target), cpus
    finally:
        ray.shutdown()


def _write(path: Path, done: PartDone) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    counts = done.counts
    with fresh.open("wb") as stream:
        np.savez(stream, keys=done.keys, counts=[counts.indexed + counts.unchanged, counts.points])
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)


def _read(path: Path) -> PartDone | None:
    """What an earlier run has finished; None where it cannot be read: then the part is gone through again."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as held:
            keys: Keys = held["keys"]
            unchanged, points = map(int, held["counts"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    if keys.dtype != np.dtype(f"S{KEY_BYTES}") or len(keys) != unchanged:
        return None
    return PartDone(Counts(unchanged=unchanged, points=points), keys, ())
