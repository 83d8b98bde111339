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
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from bench.ports import free_ports
from bench.processes import cpu_seconds, running, tree, until_ready

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


def _seconds(process: int) -> float:
    """Of its own, without its children's; 0 once it is gone."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


class Meter:
    """Processor seconds of a process and its descendants, looked at often: those that end are remembered."""

    def __init__(self, root: int) -> None:
        self._root, self._most = root, dict[int, float]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            for process in tree(self._root):
                self._most[process] = max(self._most.get(process, 0.0), _seconds(process))

    def stop(self) -> float:
        """Seconds."""
        self._over.set()
        self._thread.join()
        return sum(self._most.values())


def measure(what: str, source: Path, engine: str, folder: Path) -> tuple[float, float, float]:
    """Seconds by the clock, of the client's processors and of the service's, for one ingestion."""
    service = "image_search" if what == "images" else "text_search"
    [port] = free_ports(1)
    prefix, url = f"LOREGLASS_{service.upper()}", f"http://127.0.0.1:{port}"
    settings = {f"{prefix}_DATA_DIR": str(folder / f"{what}-{engine}"), f"{prefix}_PORT": str(port)}
    with running(f"services.{service}", settings=settings, speaks=False) as serving:
        until_ready(url, serving.process)
        before = cpu_seconds(serving.pid)
        where = (f"--{service.replace('_', '-')}-url", url)
        begun = time.perf_counter()
        command = [sys.executable, "-m", "loreglass", "index", what, str(source), *where, "--engine", engine]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as indexing:
            meter = Meter(indexing.pid)
            indexing.wait()
            seconds = time.perf_counter() - begun
            client = meter.stop()
        if indexing.returncode:
            raise SystemExit(f"{what} by {engine} ended with {indexing.returncode}.")
        return seconds, client, cpu_seconds(serving.pid) - before


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
