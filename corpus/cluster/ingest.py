"""Ingestion on Ray Data: every part of a source into a new version, published when the counts agree."""

import logging
import os
import pickle
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.from_thread import run as run_on_loop

from chassis.errors import CollectionConflict, DependencyUnavailable, LoreglassError, NotSupported
from chassis.http.calls import http_client
from contracts.collections import Built
from corpus.cluster.stages import Claims, Part, Result, Row, Target, Writer, cut, prepare, row_of
from corpus.ingest import (
    IMAGES,
    IngestOptions,
    IngestReport,
    find_name,
    has_named_pages,
    named_digest,
    require_own_name,
)
from corpus.pipeline import Outcome, Tally
from corpus.settings import set_ray_environment, write_token
from corpus.sources import SourceName
from corpus.versions import Version

LOGICAL_CPUS = 6
"""Ray counts at least so many on this machine: on two, a run that loses processes may not end."""
OBJECTS_BYTES = 256 * 2**20
"""Size of Ray's object store on this machine. Ray delays tasks when it is full."""
BATCH = 64
"""Records that an actor writes at once. A kill loses at most so many."""
MOST_NAMED = 1000
"""Rejected records that the report names; the rest are counted."""
_FINISHED = re.compile(r"(?P<part>part-.+)-(?P<records>\d+)-(?P<points>\d+)")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`address`: of a Ray cluster; empty: Ray is started on this machine. `streams`: actors that write."""

    address: str = ""
    part_records: int = 1000
    streams: int = 2


async def ingest(
    alias: str, source: Path, url: str, options: IngestOptions, cluster: ClusterOptions
) -> IngestReport:
    """Index pages or photos, as `corpus.ingest` does. Raises `ManifestError` and `LoreglassError`.

    Of several pages with one URL one is indexed, which need not be the first.
    """
    if options.sync:
        raise NotSupported("--sync needs --engine local.")
    name = await find_name(alias, source, url, options)
    parts, digest = await anyio.to_thread.run_sync(cut, alias, source, cluster.part_records, name)
    digest = named_digest(digest, name, sync=False)
    options.started(sum(part.records for part in parts))
    source = Path(await anyio.Path(source).absolute())
    token = options.token or write_token(url)
    target = Target(alias, url, token, digest, options.replace, options.patience)
    async with http_client() as http:
        version = Version(target.client(http), alias, options.patience)
        await version.open(digest, replace=options.replace)
        if alias == IMAGES or has_named_pages(source):
            await require_own_name(version, name)
        resumed = version.exists
        await version.ensure()
        with _ray(cluster.address) as ray:
            claims = ray.remote(num_cpus=0)(Claims).remote()
            run = _Run(source, name, target, claims, cluster, version, options)
            try:
                await anyio.to_thread.run_sync(run.take, parts, version.finished)
                published = await run.publish(resumed=resumed)
            except ray.exceptions.RayError as error:
                raise DependencyUnavailable(f"Ray has failed: {type(error).__name__}.") from error
            except CollectionConflict:
                await version.finish([])  # the next run does all parts
                raise
    return IngestReport.of(run.tally, version.name if published else None)


@dataclass(slots=True)
class _Run:
    """One pass over the parts of a source. `unfinished`: part number -> place of a record -> its result."""

    source: Path
    name: SourceName
    target: Target
    claims: Any
    cluster: ClusterOptions
    version: Version
    options: IngestOptions
    tally: Tally = field(default_factory=lambda: Tally(MOST_NAMED))
    finished: list[str] = field(default_factory=list)
    parts: Sequence[Part] = ()
    unfinished: dict[int, dict[int, Result]] = field(default_factory=dict)

    def take(self, parts: Sequence[Part], finished: Collection[str]) -> None:
        """Bring all parts into the index but the finished ones. Blocking. Raises `LoreglassError`.

        A part that does not come back whole, because a process ended, is tried once more.
        """
        earlier = {match["part"]: match for each in finished if (match := _FINISHED.fullmatch(each))}
        self.parts = parts
        for number, part in enumerate(parts):
            if part.name in earlier:
                self.finished.append(earlier[part.name][0])
                self.tally.counts[Outcome.UNCHANGED] += int(earlier[part.name]["records"])
                self.tally.points += int(earlier[part.name]["points"])
            else:
                self.unfinished[number] = {}
        for _ in range(2):
            self._pass([row_of(number, parts[number].content) for number in self.unfinished])
        if self.unfinished:
            raise DependencyUnavailable(
                f"Ray has lost {len(self.unfinished)} of {len(parts)} parts twice: see the memory, the disks"
                " and the logs of its nodes."
            )

    def _pass(self, rows: Sequence[Row]) -> None:
        import ray.data

        if not rows:
            return
        dataset = ray.data.from_items(list(rows), override_num_blocks=len(rows))
        with warnings.catch_warnings():
            # Ray Data tries tasks again for ever unless told otherwise, even if a record ends their process.
            # Ray 2.60 warns of the arguments that say so, and has no others; and of actors without work.
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            warnings.filterwarnings("ignore", "The minimum number of concurrent actors")
            dataset = dataset.flat_map(
                prepare,
                fn_kwargs={
                    "alias": self.target.alias,
                    "source": self.source,
                    "name": self.name,
                    "ocr_url": self.options.ocr_url,
                },
                num_cpus=1,
                max_retries=1,
            )
            dataset = dataset.map_batches(
                Writer,
                batch_size=BATCH,
                batch_format="pyarrow",
                fn_constructor_args=(self.target, self.claims),
                compute=ray.data.ActorPoolStrategy(size=min(self.cluster.streams, len(rows))),
                num_cpus=0,
                max_task_retries=1,
            )
            for row in dataset.iter_rows():
                done = pickle.loads(row["done"])
                if isinstance(done, LoreglassError):
                    raise done
                self._add(done)

    def _add(self, results: Sequence[Result]) -> None:
        """Count results, and tell the version which parts are in it whole."""
        for each in results:
            of_part = self.unfinished.get(each.part)
            if of_part is None or each.place in of_part:
                continue
            of_part[each.place] = each
            self.tally.add(each.where, each.outcome, each.reason)
            self.tally.points += each.points
            self.tally.remark(each.where, each.remarks)
            if len(of_part) == self.parts[each.part].records:
                del self.unfinished[each.part]
                indexed = [one for one in of_part.values() if one.outcome is not Outcome.REJECTED]
                name = f"{self.parts[each.part].name}-{len(indexed)}-{sum(one.points for one in indexed)}"
                self.finished.append(name)
                run_on_loop(self.version.finish, self.finished)
        self.options.progress(self.tally.counts.total())

    async def publish(self, *, resumed: bool) -> bool:
        """Switch readers to the version, if there is anything new in it. Raises `CollectionConflict`."""
        if not self.tally.written and not (resumed and self.tally.counts[Outcome.UNCHANGED]):
            await self.version.abandon()
            return False
        whole = partial(require_points, self.tally.points, self.version.starts_empty)
        return await self.version.publish(whole)


def require_points(points: int, exactly: bool, built: Built) -> None:
    """Raise `CollectionConflict` unless the index holds the points; `exactly`: and no others."""
    if built.points < points or (exactly and built.points != points):
        raise CollectionConflict(
            f"The new index holds {built.points:,} of {points:,} points; readers keep the old one."
            " Run the same command again."
        )


@contextmanager
def _ray(address: str) -> Iterator[Any]:
    """The module, with Ray running."""
    set_ray_environment()
    import ray
    import ray.data

    if address:
        ray.init(address=address, log_to_driver=False, configure_logging=False)
    else:
        ray.init(
            num_cpus=max(LOGICAL_CPUS, os.cpu_count() or 1),
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            object_store_memory=OBJECTS_BYTES,
            _node_ip_address="127.0.0.1",
        )
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # the report names what fails
    context = ray.data.DataContext.get_current()
    context.max_errored_blocks = -1
    context.enable_progress_bars = False
    try:
        yield ray
    finally:
        ray.shutdown()
