"""Benchmark 7: the pocket profile as people try it: one process, no GPU, the sample."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
from rich.console import Console

from bench.benchmark import Bench, Benchmark
from bench.figures import Table, number, percentile
from bench.photo import multipart
from bench.photographs import ask_about, index_photographs, photographs
from bench.ports import free_ports
from bench.processes import memory_mib, running, until_ready
from bench.report import About
from bench.settings import ROOT, photographs_folder
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.inventory import APPS
from deploy.sample import SAMPLE
from evaluation.data.model import Conversation
from evaluation.data.world import World, load_world

ABOUT = About(
    "pocket",
    "7. The pocket profile",
    "Every service and the gateway in one process (`deploy.one_process`) over the sample's index, all"
    " of its questions one after the other, and one about each real photograph; then each service in a"
    " process of its own, for its memory.",
    "a new photograph of 1280 by 960 pixels is answered within 1 s (p50, two cores).",
)
_SERVICES = tuple(app.name for app in APPS if app.name != "gateway")
"""In the order in which `deploy.one_process` gives them their ports."""
_WARM_UP = 6

Timings = dict[str, list[float]]


async def run(bench: Bench) -> Sequence[Table]:
    """Stages, start-up, memory, size."""
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
            timings = _ask_all(urls["gateway"], chosen, bench, since=0.25, until=0.7)
            process = ("one process", number(ready_s), number(idle_mib, 0), number(memory_mib(pid), 0))
            real = await _photographs(urls, pid)
        apart = _apart(data, chosen[:_WARM_UP], bench)
    return [
        real,
        _stages(timings),
        Table(("", "start to ready s", "MiB when ready", "MiB after the questions"), (process, *apart)),
        Table(("size", "MB"), tuple(_sizes())),
    ]


async def _photographs(urls: Mapping[str, str], pid: int) -> Table:
    """Real ones, once everything else is warm."""
    indexed, asked = photographs(photographs_folder())
    if not asked:
        return Table(("real photographs",), (("none here: LOREGLASS_PHOTOS names a folder of them",),))
    await asyncio.to_thread(index_photographs, indexed, urls["image_search"])
    return await ask_about(asked, urls["gateway"], pid)


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


def _ask_all(
    url: str, conversations: Sequence[Conversation], bench: Bench, since: float, until: float
) -> Timings:
    """Milliseconds by stage, of all turns."""
    timings: Timings = {}
    with httpx.Client(timeout=60) as client:
        for place, conversation in enumerate(conversations):
            bench.progress(since + (until - since) * place / len(conversations), "asking")
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


def _apart(data: Path, conversations: Sequence[Conversation], bench: Bench) -> list[tuple[str, ...]]:
    """Every app in a process of its own: seconds to ready, memory before and after a few questions."""
    names = (*_SERVICES, "gateway")
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    urls = {name: _url(port) for name, port in ports.items()}
    with ExitStack() as stack:
        pids, rows = {}, {}
        for place, name in enumerate(names):
            bench.progress(0.8 + 0.15 * place / len(names), f"{name} alone")
            began = time.monotonic()
            app = stack.enter_context(
                running(_module(name), settings=_settings(name, urls, data), speaks=False)
            )
            until_ready(urls[name], app.process)
            pids[name] = app.pid
            rows[name] = (name, number(time.monotonic() - began), number(memory_mib(app.pid), 0))
        _ask_all(urls["gateway"], conversations, bench, since=0.95, until=1.0)
        return [(*rows[name], number(memory_mib(pids[name]), 0)) for name in names]


def _module(name: str) -> str:
    return name if name == "gateway" else f"services.{name}"


def _settings(name: str, urls: Mapping[str, str], data: Path) -> dict[str, str]:
    prefix = f"LOREGLASS_{name.upper()}_"
    own = {f"{prefix}PORT": urls[name].rpartition(":")[2], f"{prefix}LOG_LEVEL": "warning"}
    if name == "gateway":
        own |= {f"{prefix}{service.upper()}_URL": urls[service] for service in _SERVICES}
    elif name in ("image_search", "text_search"):
        own[f"{prefix}DATA_DIR"] = str(data / name)
    return own


def _sizes() -> Iterator[tuple[str, str]]:
    """The wheel, and everything that the pocket profile installs, unpacked."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        wheel = sum(file.stat().st_size for file in Path(folder).iterdir())
    yield "wheel", number(wheel / 1e6)
    names = [line.partition("==")[0].strip() for line in _requirements() if "==" in line]
    sizes = {name: _installed_bytes(name) for name in names}
    yield f"the {len(names)} packages of requirements/pocket.txt", number(sum(sizes.values()) / 1e6, 0)
    for name, size in sorted(sizes.items(), key=lambda item: -item[1])[:4]:
        yield f"of that {name}", number(size / 1e6, 0)


def _requirements() -> list[str]:
    return (ROOT / "requirements" / "pocket.txt").read_text("utf-8").splitlines()


def _installed_bytes(name: str) -> int:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError:
        return 0
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


BENCHMARK = Benchmark(ABOUT, run)
