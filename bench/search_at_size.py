"""Search over a million points through the services' engines: how near to exact, how fast, how large."""

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from bench.benchmark import Bench, Benchmark, Progress
from bench.figures import Table, number, percentile
from bench.report import About
from bench.republishing import Phase, republish
from bench.sized_index import ALIAS, SERVICES
from bench.sized_search import Asked, Exact, Served, exact, served
from bench.synthetic_index import BLOCK, NEAREST
from chassis.vectors.dense_index import DenseIndex
from chassis.vectors.edge import EdgeStore
from chassis.vectors.files import allocated

POINTS = 1_000_000
_GOAL = 0.99
_WHOLE = DenseIndex(quantised=False)
_TIMES = ("p50 ms", "p99 ms")
ABOUT = About(
    "search-at-size",
    "9. Search over a million points",
    "Synthetic points of the real sizes (1,024 numbers and 100 terms a passage, 768 numbers a photo;"
    " `bench/synthetic_index.py` says how they are made like real ones) are written by the services' engines"
    " into the embedded store, and one caller asks for them. Recall is against looking at every point. Held"
    " is memory that no file is behind; mapped is what was read of files, which the system may take back."
    " Without models and HTTP.",
    f"recall@{NEAREST} at least {_GOAL}, and no answer failed or mixed while a version is published.",
)


@dataclass(frozen=True, slots=True)
class Built:
    """What it took to make an index, and what it takes on the disk."""

    filled_s: float
    indexed_s: float
    disk_mib: float


def build(service: str, folder: Path, index: DenseIndex, points: int, progress: Progress) -> Built:
    """Fill and publish a version of so many points, a multiple of BLOCK."""
    sized = SERVICES[service](EdgeStore(folder, dense=index))
    sized.create("v1")
    began = time.perf_counter()
    for block in range(points // BLOCK):
        sized.fill("v1", block, sized.meanings.block(block))
        progress(block * BLOCK / points, f"{service}, {block * BLOCK:,} of {points:,} points")
    filled = time.perf_counter()
    progress(1.0, f"{service}, {points:,} points are indexed")
    sized.store.publish(ALIAS, "v1")
    published = time.perf_counter()
    sized.store.close()
    return Built(filled - began, published - filled, allocated(folder) / 2**20)


def measured(service: str, folder: Path, index: DenseIndex, nearest: Exact) -> Served:
    """Searches of an index that is built, in a process of their own: its memory is what they took."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return apart.submit(served, service, folder, index, nearest).result()


def searches(service: str, folder: Path, nearest: Exact) -> list[Table]:
    """In the form that the services give it."""
    index = DenseIndex()
    ways = measured(service, folder, index, nearest)
    timed = {"dense": ways.dense, **ways.others}
    other = [(name, number(each.recall, 4), *_times(each)) for name, each in timed.items()]
    phases = republish(service, folder, index, max(BLOCK, nearest.points // 10 // BLOCK * BLOCK))
    return [
        Table((f"{service}: searches", f"recall@{NEAREST}", *_TIMES), tuple(other)),
        _published(service, phases),
    ]


def _published(service: str, phases: dict[str, Phase]) -> Table:
    rows = tuple(
        (
            name,
            *_ms(each.times_ms),
            number(max(each.times_ms), 0),
            f"{len(each.times_ms):,}",
            str(each.failed),
            str(each.mixed),
            number(each.seconds),
        )
        for name, each in phases.items()
    )
    kept = not any(each.failed or each.mixed for each in phases.values())
    return Table(
        (
            f"{service}: a tenth is published anew",
            *_TIMES,
            "longest ms",
            "answers",
            "failed",
            "mixed",
            "seconds",
        ),
        rows,
        f"Every answer came from one version: the goal is {'met' if kept else 'missed'}.",
    )


def _row(service: str, index: DenseIndex, built: Built, found: Served) -> tuple[str, ...]:
    sizes = (found.anonymous_mib, found.mapped_mib, built.disk_mib)
    seconds = (found.opened_s, built.filled_s, built.indexed_s)
    return (
        f"{service}, {'one byte' if index.quantised else 'four bytes'} a number",
        number(found.dense.recall, 4),
        *_times(found.dense),
        *_times(found.first),
        *(number(each, 0) for each in sizes),
        *(number(each) for each in seconds),
    )


def _times(asked: Asked) -> tuple[str, str]:
    return _ms(asked.times_ms)


def _ms(times_ms: Sequence[float]) -> tuple[str, str]:
    return number(percentile(times_ms, 0.5), 2), number(percentile(times_ms, 0.99), 2)


_HEADERS = (
    f"dense, the {NEAREST} nearest",
    f"recall@{NEAREST}",
    *_TIMES,
    "p50 ms after a start",
    "p99 ms",
    "held MiB",
    "mapped MiB",
    "disk MiB",
    "opened s",
    "filled s",
    "indexed s",
)


async def _run(bench: Bench) -> Sequence[Table]:
    points = bench.count(POINTS) // BLOCK * BLOCK
    rows, tables, recalls = [], list[Table](), list[float]()
    for service in SERVICES:
        bench.progress(0.0, f"{service}, every point is looked at")
        nearest = exact(service, points)
        for index in (_WHOLE, DenseIndex()):
            with tempfile.TemporaryDirectory(prefix="loreglass-size-") as folder:
                built = build(service, Path(folder), index, points, bench.progress)
                found = measured(service, Path(folder), index, nearest)
                rows.append(_row(service, index, built, found))
                if index.quantised:
                    recalls.append(found.dense.recall)
                    tables += searches(service, Path(folder), nearest)
    verdict = "met" if min(recalls) >= _GOAL else "missed"
    finding = f"{points:,} points, recall@{NEAREST} {min(recalls):.4f} at least: the goal is {verdict}."
    return [Table(_HEADERS, tuple(rows), finding), *tables]


BENCHMARK = Benchmark(ABOUT, _run, only_if_named="it takes an hour and 15 GB of disk")
