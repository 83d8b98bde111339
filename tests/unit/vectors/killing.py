"""An indexing that is stopped at every write, and what a restart finds.

`python -m tests.unit.vectors.killing [EVERY [KILLS]]` stops at each (or each EVERY-th) fsync, rename, removal
and opening for writing, then by SIGKILL at seeded moments of Edge's own writes, and prints a table.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chassis.vectors.edge import EdgeStore
from chassis.vectors.folders import copy_folder
from tests.unit.vectors.test_edge_store import SCHEMA, count_points, points

STOPPED = 77
PUBLISHED, NEW = 20, 30
_WRITES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir")


def prepare(folder: Path) -> None:
    """An index that readers see."""
    store = EdgeStore(folder)
    store.create("v1", SCHEMA)
    store.upsert("v1", points(0, PUBLISHED))
    store.publish("pages", "v1")
    store.close()


def index(folder: Path) -> None:
    """What `corpus` asks of a service: a copy, points, the aliases, and the removal of what is older."""
    store = EdgeStore(folder)
    store.create("v2", SCHEMA, base="pages")
    for first in range(PUBLISHED, NEW, 5):
        store.upsert("v2", points(first, first + 5))
    if store.collections()[0].aliases == ("pages",):
        store.publish("pages-previous", "v1")
    store.publish("pages", "v2")
    store.create("v3", SCHEMA)
    store.drop("v3")
    store.close()


def look(folder: Path) -> None:
    """After a restart: what readers see is whole, nothing is broken, and the indexing goes on to its end."""
    store = EdgeStore(folder)
    seen, notes = count_points(store), store.notes()
    published = [info.points for info in store.collections() if "pages" in info.aliases]
    store.close()
    assert seen in (PUBLISHED, NEW), seen
    assert published == [seen], published
    assert notes == [], notes
    index(folder)
    store = EdgeStore(folder)
    assert count_points(store) == NEW
    store.close()


def stop_at(number: int) -> None:
    """Have the process end before its `number`-th write."""
    count = 0

    def begin_write() -> None:
        nonlocal count
        count += 1
        if count == number:
            os._exit(STOPPED)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _WRITES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            begin_write()

    def fsync(descriptor: int) -> None:
        begin_write()
        synced(descriptor)

    synced, os.fsync = os.fsync, fsync  # type: ignore[assignment]
    sys.addaudithook(audit)


def in_child(work: Callable[[], None], after_s: float | None = None) -> int:
    """Run `work` in a fork, killed after a time if one is given; its exit status as `os.waitpid` tells it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the parent must hear of it
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _case(work: Path, kill: Callable[[Path], int]) -> str:
    folder = work / "case"
    copy_folder(work / "prepared", folder)
    try:
        ended = kill(folder)
        whole = in_child(lambda: look(folder)) == 0
        return f"{'finished' if ended == 0 else 'stopped'}, {'whole' if whole else 'NOT WHOLE'}"
    finally:
        shutil.rmtree(folder)


def stopped_at(folder: Path, number: int) -> int:
    """Index, and stop at one write."""

    def work() -> None:
        stop_at(number)
        index(folder)

    return in_child(work)


def run(work: Path, every: int, kills: int, seed: int = 18) -> Counter[str]:
    """Every so many writes, and so many kills at seeded moments."""
    assert in_child(lambda: prepare(work / "prepared")) == 0
    outcomes: Counter[str] = Counter()
    number = 1 + seed % every
    while True:
        outcome = _case(work, lambda folder, at=number: stopped_at(folder, at))  # type: ignore[misc]
        outcomes[outcome] += 1
        if outcome.startswith("finished"):
            break
        number += every
    begun = time.monotonic()
    _case(work, lambda folder: in_child(lambda: index(folder)))
    longest, chance = time.monotonic() - begun, random.Random(seed)
    for _ in range(kills):
        moment = chance.uniform(0, longest)
        outcomes[_case(work, lambda folder: in_child(lambda: index(folder), moment))] += 1  # noqa: B023
    return outcomes


def main(every: str = "1", kills: str = "50") -> int:
    """Print how the cases ended; 1 where something was lost."""
    memory = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        outcomes = run(Path(folder), int(every), int(kills))
    for outcome, count in sorted(outcomes.items()):
        sys.stdout.write(f"{count:6,}  {outcome}\n")
    return int(any("NOT" in outcome for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
