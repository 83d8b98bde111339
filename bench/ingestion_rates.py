"""What indexing costs by each engine: processor seconds of the client and of the service, a thousand records.

`python -m bench.ingestion_rates --pages 2000 --photos 60` prints a table. Pages are HTML of some 900 words,
photos of 640 by 480 pixels with many corners; services run their pocket engines in processes of their own.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
from PIL import Image

TICK = os.sysconf("SC_CLK_TCK")
EVERY_S = 0.2


def make_pages(path: Path, count: int) -> Path:
    """Words by Zipf's law, so that terms repeat as they do in prose; a seed."""
    chance = random.Random(19)
    words = ["".join(chance.choices("aeioulnrstmdpk", k=chance.randint(2, 9))) for _ in range(20_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            paragraphs = (
                " ".join(chance.choices(words, weights, k=90)).capitalize() + "." for _ in range(10)
            )
            body = "".join(f"<h2>Part {at}</h2><p>{text}</p>" for at, text in enumerate(paragraphs))
            head = f"<html><head><title>Page {number}</title></head><body><h1>Page {number}</h1>"
            html = f"{head}{body}</body></html>"
            stream.write(json.dumps({"url": f"https://pages.example/{number}", "html": html}) + "\n")
    return path


def make_photos(folder: Path, count: int) -> Path:
    """Patches of even colour: corners, as buildings have them."""
    folder.mkdir()
    chance = np.random.default_rng(19)
    for number in range(count):
        patches = chance.integers(0, 255, (60, 80, 3), dtype=np.uint8)
        name = "".join(chr(97 + int(digit)) for digit in f"{number:04}")
        Image.fromarray(patches.repeat(8, 0).repeat(8, 1)).save(folder / f"Tower {name}.jpg", quality=85)
    return folder


def _family(root: int) -> Iterator[int]:
    """A process and all that came of it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(after_name[1]), []).append(int(entry.parent.name))
    waiting = [root]
    while waiting:
        process = waiting.pop()
        yield process
        waiting += parents.get(process, [])


def _ticks(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


class Meter:
    """Processor seconds of a process and its descendants, looked at often: those that end are remembered."""

    def __init__(self, root: int) -> None:
        self._root, self._most = root, dict[int, int]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            for process in _family(self._root):
                self._most[process] = max(self._most.get(process, 0), _ticks(process))

    def stop(self) -> float:
        """Seconds."""
        self._over.set()
        self._thread.join()
        return sum(self._most.values()) / TICK


def measure(what: str, source: Path, engine: str, folder: Path) -> tuple[float, float, float]:
    """Seconds by the clock, of the client's processors and of the service's, for one ingestion."""
    service, port = ("image_search", 17103) if what == "images" else ("text_search", 17104)
    prefix = f"LOREGLASS_{service.upper()}"
    settings = {f"{prefix}_DATA_DIR": str(folder / f"{what}-{engine}"), f"{prefix}_PORT": str(port)}
    url = f"http://127.0.0.1:{port}"
    # The environment goes on as it is: this script and its children are one run.
    with subprocess.Popen(
        [
            "env",
            *(f"{name}={value}" for name, value in settings.items()),
            sys.executable,
            "-m",
            f"services.{service}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as serving:
        try:
            _wait_for(url)
            before = sum(map(_ticks, _family(serving.pid)))
            option = "--image-search-url" if what == "images" else "--text-search-url"
            command = [
                "index",
                what,
                str(source),
                option,
                url,
                "--engine",
                engine,
                "--state",
                str(folder / "state"),
            ]
            begun = time.perf_counter()
            with subprocess.Popen(
                [sys.executable, "-m", "loreglass", *command], stdout=subprocess.DEVNULL
            ) as indexing:
                meter = Meter(indexing.pid)
                indexing.wait()
                seconds = time.perf_counter() - begun
                client = meter.stop()
            if indexing.returncode:
                raise SystemExit(f"{what} by {engine} ended with {indexing.returncode}.")
            spent = (sum(map(_ticks, _family(serving.pid))) - before) / TICK
        finally:
            serving.terminate()
    return seconds, client, spent


def _wait_for(url: str) -> None:
    for _ in range(600):
        try:
            if httpx.get(f"{url}/health/ready", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"Nothing answers at {url}.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--photos", type=int, default=60)
    parser.add_argument("--engines", nargs="+", default=["local", "ray"])
    chosen = parser.parse_args(arguments)
    sys.stdout.write(
        "| | engine | records | s | client CPU s/1000 | service CPU s/1000 |\n|---|---|---|---|---|---|\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {
            "pages": (make_pages(folder / "pages.jsonl", chosen.pages), chosen.pages),
            "images": (make_photos(folder / "photos", chosen.photos), chosen.photos),
        }
        for what, (source, records) in sources.items():
            for engine in chosen.engines:
                seconds, client, service = measure(what, source, engine, folder)
                each = f"{1000 * client / records:.1f} | {1000 * service / records:.1f}"
                sys.stdout.write(f"| {what} | {engine} | {records} | {seconds:.1f} | {each} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
