"""Benchmark 4: the platform without a model server, in one process, on the sample and a folder's photos."""

import asyncio
import io
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import httpx
from PIL import Image, ImageOps
from rich.console import Console

from bench.benchmark import About, Bench, Benchmark, Table, number, percentile
from bench.ports import free_ports
from bench.processes import PYTHON, Running, cpu_seconds, memory_mib, serving
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
    " questions one after the other. With `--photos FOLDER` also questions about photos of your own: of each"
    " place with several (`NAME_1.jpg`, `NAME_2.jpg`) the first is indexed and the others are asked about.",
    "a new photo of 1280 by 960 pixels is answered within 1 s (p50, two cores).",
)
_SERVICES = tuple(app.name for app in APPS if app.name != "gateway")
"""In the order in which `deploy.one_process` gives them their ports."""
SIZE = (1280, 960)
"""Pixels that a photo is fitted into: what a phone's camera app sends after scaling."""
_QUALITIES = (88, 90, 92)
"""Each asks anew: the services remember a photo by its bytes."""
_QUESTION = "What is this?"

PhotoOfKind = tuple[str, Path]
"""Which kind of photo, and its file."""


async def run(bench: Bench) -> Sequence[Table]:
    """Measure photos, stages, the start and memory."""
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
            photos = _photos(bench.photos, urls, client, platform.pid) if bench.photos else []
    headers = ("", "start to ready s", "MiB when ready", "MiB after the questions")
    return [*photos, _stages(timings), Table(headers, (("one process", *memory),))]


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
        yield "as the caller sees it", (time.monotonic() - began) * 1000
        answer = reply.json()
        yield from answer["timings_ms"].items()
        files, fields = None, {"session_id": answer["session_id"]}


def _stages(timings: Mapping[str, Sequence[float]]) -> Table:
    rows = tuple(
        (stage, str(len(values)), number(percentile(values, 0.5)), number(percentile(values, 0.95)))
        for stage, values in sorted(timings.items(), key=lambda item: -percentile(item[1], 0.5))
    )
    return Table(("stage", "runs", "p50 ms", "p95 ms"), rows)


def _photos(folder: Path, urls: Mapping[str, str], client: httpx.Client, pid: int) -> list[Table]:
    """Ask about every photo in every quality, one question each. CPU is the whole process's."""
    indexed, to_ask = to_index_and_ask(folder)
    with tempfile.TemporaryDirectory() as copies:
        for file in indexed:
            (Path(copies) / f"{_place(file)}.jpg").write_bytes(file.read_bytes())
        quiet, url = Console(quiet=True), urls["image_search"]
        if indexed and index(ingest_photos, "images", Path(copies), url, IngestOptions(), quiet):
            raise RuntimeError("The photos could not be indexed.")
    runs = defaultdict[str, list[tuple[float, float]]](list)
    for kind, file in to_ask:
        for jpeg in _encode(file):
            runs[kind].append(_ask(client, f"{urls['gateway']}/answer", jpeg, pid))
    rows = []
    runs["all"] = [run for kind in list(runs.values()) for run in kind]
    for kind, each in runs.items():
        wall, cpu = ([run[place] for run in each] for place in (0, 1))
        figures = percentile(wall, 0.5), percentile(wall, 0.95), percentile(cpu, 0.5)
        rows.append((kind, str(len(each)), *(number(figure, 0) for figure in figures)))
    middle = percentile([wall for wall, _ in runs["all"]], 0.5)
    met = "met" if middle <= 1000 else "not met"
    finding = f"Goal for a new photo, p50 within 1,000 ms: {met}, {number(middle, 0)} ms."
    return [Table(("photos", "questions", "p50 ms", "p95 ms", "CPU p50 ms"), tuple(rows), finding)]


def to_index_and_ask(folder: Path) -> tuple[list[Path], list[PhotoOfKind]]:
    """Return the photos to index, one a place, and those to ask about; a name is a place and digits."""
    indexed: list[Path] = []
    to_ask: list[PhotoOfKind] = []
    for _, files in groupby(sorted(folder.glob("*.jpg")), _place):
        first, *others = files
        if others:
            indexed.append(first)
            to_ask += [("another view of what is indexed", other) for other in others]
        else:
            to_ask.append(("of nothing indexed", first))
    return indexed, to_ask


def _place(file: Path) -> str:
    return file.stem.rstrip("_0123456789")


def _encode(file: Path) -> Iterator[bytes]:
    """Yield the photo, upright or lying as it is, as large as fits."""
    with Image.open(file) as photo:
        size = SIZE if photo.width >= photo.height else SIZE[::-1]
        fitted = ImageOps.contain(photo.convert("RGB"), size)
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        fitted.save(buffer, "JPEG", quality=quality)
        yield buffer.getvalue()


def _ask(client: httpx.Client, url: str, jpeg: bytes, pid: int) -> tuple[float, float]:
    """Return milliseconds from sending to the answer, and those of the process's cores."""
    worked, began = cpu_seconds(pid), time.monotonic()
    client.post(url, data={"question": _QUESTION}, files={"image": jpeg}).raise_for_status()
    return (time.monotonic() - began) * 1000, (cpu_seconds(pid) - worked) * 1000


BENCHMARK = Benchmark(ABOUT, run)
