"""Benchmark: the platform without a model server, in one process, on the sample."""

import asyncio
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
from rich.console import Console

from bench.benchmark import About, Bench, Benchmark, Table, number, percentile
from bench.ports import free_ports
from bench.processes import PYTHON, Running, memory_mib, serving
from corpus.cli import index
from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from deploy.inventory import APPS
from deploy.settings import SAMPLE
from evaluation.data.model import Conversation
from evaluation.data.opening import open_dataset

ABOUT = About(
    "profile",
    "The platform without a model server",
    "Every service and the gateway in one process (`deploy.one_process`) over the sample's index, all of its"
    " questions one after the other.",
    "a question with a new photo is answered within 1 s (p50, two cores).",
)
_SERVICES = tuple(app.name for app in APPS if app.name != "gateway")
"""In the order in which `deploy.one_process` gives them their ports."""
_NEW_PHOTO, _FOLLOW_UP = "a new photo, as the caller sees it", "a follow-up, as the caller sees it"
_GOAL_MS = 1_000


async def run(bench: Bench) -> Sequence[Table]:
    """Measure stages, the start and memory."""
    return await asyncio.to_thread(_run, bench)


def _run(bench: Bench) -> Sequence[Table]:
    talks = open_dataset(str(SAMPLE)).conversations[: bench.count(24, least=6)]
    with tempfile.TemporaryDirectory() as folder:
        bench.progress(0.0, "indexing")
        with one_process(Path(folder)) as (_, urls):
            index_sample(urls)
        bench.progress(0.2, "asking")
        with one_process(Path(folder)) as (platform, urls), httpx.Client(timeout=60) as client:
            idle_mib = memory_mib(platform.pid)
            url, timings = f"{urls['gateway']}/answer", defaultdict[str, list[float]](list)
            for conversation in talks:
                for stage, ms in _converse(client, url, conversation):
                    timings[stage].append(ms)
            memory = (number(platform.ready_s), number(idle_mib, 0), number(memory_mib(platform.pid), 0))
    headers = ("", "start to ready s", "MiB when ready", "MiB after the questions")
    return [_stages(timings), Table(headers, (("one process", *memory),))]


@contextmanager
def one_process(
    data: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[Running, Mapping[str, str]]]:
    """Run the platform; yield its process, and its addresses by name. `settings`: further ones."""
    gateway, first, *_ = free_ports(1 + len(_SERVICES))
    environment = {
        "LOREGLASS_PORT": str(gateway),
        "LOREGLASS_SERVICE_PORT": str(first),
        "LOREGLASS_DATA_DIR": str(data),
        "LOREGLASS_LOG_LEVEL": "warning",
        **(settings or {}),
    }
    with serving(*PYTHON, "deploy.one_process", port=gateway, settings=environment) as platform:
        urls = {name: f"http://127.0.0.1:{first + place}" for place, name in enumerate(_SERVICES)}
        yield platform, {**urls, "gateway": platform.url}


def index_sample(urls: Mapping[str, str]) -> None:
    quiet = Console(quiet=True)
    for ingest, what, file, service in (
        (ingest_photos, "images", "images.jsonl", "image_search"),
        (ingest_pages, "pages", "pages.jsonl", "text_search"),
    ):
        if index(ingest, what, SAMPLE / file, urls[service], IngestOptions(replace=True), quiet):
            raise RuntimeError(f"The {what} could not be indexed.")


def _converse(client: httpx.Client, url: str, conversation: Conversation) -> Iterator[tuple[str, float]]:
    """Yield milliseconds by stage. The photo goes with the first question; the session remembers it."""
    files = {"image": conversation.photo.read_bytes()} if conversation.photo else None
    fields: dict[str, str] = {}
    for turn in conversation.turns:
        began = time.monotonic()
        reply = client.post(url, data={"question": turn.question, **fields}, files=files).raise_for_status()
        yield _NEW_PHOTO if files else _FOLLOW_UP, (time.monotonic() - began) * 1000
        answer = reply.json()
        yield from answer["timings_ms"].items()
        files, fields = None, {"session_id": answer["session_id"]}


def _stages(timings: Mapping[str, Sequence[float]]) -> Table:
    rows = tuple(
        (stage, str(len(values)), number(percentile(values, 0.5)), number(percentile(values, 0.95)))
        for stage, values in sorted(timings.items(), key=lambda item: -percentile(item[1], 0.5))
    )
    middle = percentile(timings[_NEW_PHOTO], 0.5)
    met = "met" if middle <= _GOAL_MS else "missed"
    finding = f"p50 with a new photo: {number(middle, 0)} ms. The goal is {met}."
    return Table(("stage", "runs", "p50 ms", "p95 ms"), rows, finding)


BENCHMARK = Benchmark(ABOUT, run)
