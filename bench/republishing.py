"""Searches while another version is filled, indexed and published: how long they take, and what they say."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.sized_index import ALIAS, QUERIES, SERVICES, Sized
from bench.synthetic_index import BLOCK
from chassis.errors import LoreglassError
from chassis.vectors.dense_index import DenseIndex
from chassis.vectors.edge import EdgeStore

_ALONE_S = 5.0


@dataclass(slots=True)
class Phase:
    """`mixed`: answers with hits of two versions, or of the one before after one of the new."""

    times_ms: list[float] = field(default_factory=list)
    mixed: int = 0
    failed: int = 0
    seconds: float = 0.0


class _Asking:
    """One caller who asks one question after the other, and looks at the answers."""

    def __init__(self, sized: Sized) -> None:
        self._sized = sized
        self.phase = Phase()
        self._newest = "v1"
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "_Asking":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _ask(self) -> None:
        number = 0
        while not self._stopping.is_set():
            phase, began = self.phase, time.perf_counter()
            try:
                urls = self._sized.ask(ALIAS, number % QUERIES)
            except LoreglassError:
                phase.failed += 1
                continue
            phase.times_ms.append(1000 * (time.perf_counter() - began))
            number += 1
            versions = {url.split("/")[2].partition(".")[0] for url in urls}
            if len(versions) != 1 or max(versions) < self._newest:
                phase.mixed += 1
            self._newest = max(versions | {self._newest})

    @contextmanager
    def during(self) -> Iterator[Phase]:
        self.phase = phase = Phase()
        began = time.perf_counter()
        yield phase
        phase.seconds = time.perf_counter() - began


def republish(service: str, folder: Path, index: DenseIndex, points: int) -> dict[str, Phase]:
    """Fill and publish a second version of so many points beside the one that is asked, by phase."""
    sized = SERVICES[service](EdgeStore(folder, dense=index))
    phases = {}
    with _Asking(sized) as asking:
        with asking.during() as phases["alone"]:
            time.sleep(_ALONE_S)
        sized.create("v2")
        with asking.during() as phases["while another version is filled"]:
            for block in range(points // BLOCK):
                sized.fill("v2", block, sized.meanings.block(block))
        with asking.during() as phases["while it is indexed and published"]:
            sized.store.publish(ALIAS, "v2")
        with asking.during() as phases["after it"]:
            time.sleep(_ALONE_S)
    sized.store.publish(ALIAS, "v1")
    sized.store.drop("v2")
    sized.store.close()
    return phases
