"""Measure the platform without a model server on photos from a folder.

Of each place with several photos the first is indexed, beside the sample, and the others are asked about; the
photo of a place with only one shows nothing that is indexed.
"""

import asyncio
import io
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import httpx
from PIL import Image
from rich.console import Console

from bench.figures import Table, number, percentile
from bench.photo import multipart
from bench.processes import cpu_seconds
from corpus.cli import index
from corpus.ingest import ingest_photos

SIZE = (1280, 960)
"""Pixels that a photo is fitted into: what a phone's camera app sends after scaling."""
_QUALITIES = (88, 90, 92)
"""Each asks anew: the services remember a photo by its bytes."""
_STAGES = ("ocr", "image_search", "cropper", "crop_search")
_QUESTION = "What is this?"

Asked = tuple[str, Path]
"""Which kind of photo, and its file."""


def to_index_and_ask(folder: Path) -> tuple[list[Path], list[Asked]]:
    """Those to index, one a place, and those to ask about. A file is named by its place, then digits."""
    indexed: list[Path] = []
    asked: list[Asked] = []
    for _, files in groupby(sorted(folder.glob("*.jpg")), _place):
        first, *others = files
        if others:
            indexed.append(first)
            asked += [("another view of what is indexed", other) for other in others]
        else:
            asked.append(("of nothing indexed", first))
    return indexed, asked


def index_photos(files: Sequence[Path], url: str) -> None:
    """Into the collection that is published, under the names of their places."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            (Path(folder) / f"{_place(file)}.jpg").write_bytes(file.read_bytes())
        if index(ingest_photos, "images", Path(folder), url, replace=False, console=Console(quiet=True)):
            raise RuntimeError("The photos could not be indexed.")


async def ask_about(asked: Sequence[Asked], url: str, pid: int) -> Table:
    """Every photo in every quality, one question each. CPU is the whole process's."""
    seen: dict[str, list[Mapping[str, float]]] = {}
    for kind, file in asked:
        for jpeg in _encoded(file):
            seen.setdefault(kind, []).append(await asyncio.to_thread(_ask, url, jpeg, pid))
    headers = (
        "photos",
        "questions",
        "p50 ms",
        "p95 ms",
        "CPU p50 ms",
        *(f"{name} p50 ms" for name in _STAGES),
    )
    rows = [_row(kind, runs) for kind, runs in seen.items()]
    everything = [run for runs in seen.values() for run in runs]
    return Table(headers, (*rows, _row("all", everything)), _finding(everything))


def _finding(runs: Sequence[Mapping[str, float]]) -> str:
    middle = percentile([run["wall"] for run in runs], 0.5)
    said = "met" if middle <= 1000 else "not met"
    return f"Goal for a new photo, p50 within 1,000 ms: {said}, {number(middle, 0)} ms."


def _row(kind: str, runs: Sequence[Mapping[str, float]]) -> tuple[str, ...]:
    wall = [run["wall"] for run in runs]
    columns = [[run[name] for run in runs if name in run] for name in ("cpu", *_STAGES)]
    figures = (
        percentile(wall, 0.5),
        percentile(wall, 0.95),
        *(percentile(column, 0.5) for column in columns),
    )
    return (kind, str(len(runs)), *(number(figure, 0) for figure in figures))


def _ask(url: str, jpeg: bytes, pid: int) -> dict[str, float]:
    """Milliseconds: from sending to the answer, of the process's cores, and of each stage."""
    body = multipart({"question": _QUESTION}, jpeg)
    worked, began = cpu_seconds(pid), time.monotonic()
    reply = httpx.post(
        f"{url}/answer", content=body.content, headers={"Content-Type": body.content_type}, timeout=60
    )
    wall = time.monotonic() - began
    stages: dict[str, float] = reply.raise_for_status().json()["timings_ms"]
    return {**stages, "wall": wall * 1000, "cpu": (cpu_seconds(pid) - worked) * 1000}


def _encoded(file: Path) -> Iterator[bytes]:
    """The photo, upright or lying as it is, as large as fits."""
    with Image.open(file) as photo:
        size = SIZE if photo.width >= photo.height else SIZE[::-1]
        scale = min(size[0] / photo.width, size[1] / photo.height)
        fitted = photo.convert("RGB").resize((round(photo.width * scale), round(photo.height * scale)))
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        fitted.save(buffer, "JPEG", quality=quality)
        yield buffer.getvalue()


def _place(file: Path) -> str:
    return file.stem.rstrip("_0123456789")
