"""The platform without a model server: one process, no GPU, the sample."""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from rich.console import Console

from bench.benchmark import Bench, Benchmark
from bench.figures import Table, number, percentile
from bench.photo import multipart
from bench.photographs import ask_about, index_photos, to_index_and_ask
from bench.ports import free_ports
from bench.processes import memory_mib, running, until_ready
from bench.report import About
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.inventory import APPS
from deploy.sample import SAMPLE
from evaluation.data.model import Conversation
from evaluation.data.world import World, load_world

ABOUT = About(
    "profile",
    "The platform without a model server",
    "Every service and the gateway in one process (`deploy.one_process`) over the sample's index, all of its"
    " questions one after the other. With `--photos FOLDER` also questions about photos of your own.",
    "a new photo of 1280 by 960 pixels is answered within 1 s (p50, two cores).",
)
_SERVICES = tuple(app.name for app in APPS if app.name != "gateway")
"""In the order in which `deploy.one_process` gives them their ports."""

Timings = dict[str, list[float]]


async def run(bench: Bench) -> Sequence[Table]:
    """Measure photos, stages, the start and memory."""
    world = sample()
    chosen = [*world.single, *world.multi][: bench.count(24, least=6)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        bench.progress(0.0, "indexing")
        with one_process(data) as (_, urls, _):
            await asyncio.to_thread(index_sample, urls)
        bench.progress(0.2, "starting")
        with one_process(data) as (pid, urls, ready_s):
            idle_mib = memory_mib(pid)
            timings = _ask_all(urls["gateway"], chosen, bench)
            process = ("one process", number(ready_s), number(idle_mib, 0), number(memory_mib(pid), 0))
            photos = await _photos(bench.photos, urls, pid)
    memory = Table(("", "start to ready s", "MiB when ready", "MiB after the questions"), (process,))
    return [*photos, _stages(timings), memory]


async def _photos(folder: Path | None, urls: Mapping[str, str], pid: int) -> list[Table]:
    """Ask about the photos of a folder, if there is one, once everything is warm."""
    indexed, asked = to_index_and_ask(folder) if folder else ([], [])
    if not asked:
        return []
    if indexed:
        await asyncio.to_thread(index_photos, indexed, urls["image_search"])
    return [await ask_about(asked, urls["gateway"], pid)]


def sample() -> World:
    """The sample's questions."""
    return load_world(SAMPLE)


@contextmanager
def one_process(
    data: Path, further: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[int, Mapping[str, str], float]]:
    """The process, its addresses by name, and the seconds from its start until it was ready."""
    gateway, first, *_ = free_ports(1 + len(_SERVICES))
    settings = {
        "LOREGLASS_PORT": str(gateway),
        "LOREGLASS_SERVICE_PORT": str(first),
        "LOREGLASS_DATA_DIR": str(data),
        "LOREGLASS_LOG_LEVEL": "warning",
        **further,
    }
    urls = {name: _url(first + place) for place, name in enumerate(_SERVICES)} | {"gateway": _url(gateway)}
    began = time.monotonic()
    with running("deploy.one_process", settings=settings, speaks=False) as platform:
        until_ready(urls["gateway"], platform.process)
        yield platform.pid, urls, time.monotonic() - began


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def index_sample(urls: Mapping[str, str]) -> None:
    """Its catalogue and its pages."""
    quiet = Console(quiet=True)
    for ingest, what, file, service in (
        (ingest_photos, "images", "images.jsonl", "image_search"),
        (ingest_pages, "pages", "pages.jsonl", "text_search"),
    ):
        if index(ingest, what, SAMPLE / file, urls[service], replace=True, console=quiet):
            raise RuntimeError(f"The {what} could not be indexed.")


def _ask_all(url: str, conversations: Sequence[Conversation], bench: Bench) -> Timings:
    """Return milliseconds by stage, of all turns."""
    timings: Timings = {}
    with httpx.Client(timeout=60) as client:
        for place, conversation in enumerate(conversations):
            bench.progress(0.25 + 0.7 * place / len(conversations), "asking")
            for stage, ms in _converse(client, url, conversation):
                timings.setdefault(stage, []).append(ms)
    return timings


def _converse(client: httpx.Client, url: str, conversation: Conversation) -> Iterator[tuple[str, float]]:
    """The photo goes with the first question; the session remembers it for the others."""
    jpeg = conversation.photo.read_bytes() if conversation.photo else None
    fields: dict[str, str] = {}
    for turn in conversation.turns:
        body = multipart({"question": turn.question, **fields}, jpeg)
        began = time.monotonic()
        reply = client.post(
            f"{url}/answer", content=body.content, headers={"Content-Type": body.content_type}
        )
        answer: dict[str, Any] = reply.raise_for_status().json()
        yield "as the caller sees it", (time.monotonic() - began) * 1000
        yield from answer["timings_ms"].items()
        jpeg, fields = None, {"session_id": answer["session_id"]}


def _stages(timings: Timings) -> Table:
    rows = tuple(
        (stage, str(len(values)), number(percentile(values, 0.5)), number(percentile(values, 0.95)))
        for stage, values in sorted(timings.items(), key=lambda item: -percentile(item[1], 0.5))
    )
    return Table(("stage", "runs", "p50 ms", "p95 ms"), rows)


BENCHMARK = Benchmark(ABOUT, run)
