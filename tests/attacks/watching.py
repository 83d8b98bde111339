"""Memory and unlinked files of the processes, and a bound on the memory."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.processes import memory_mib, tree

_EVERY_S = 0.04


@dataclass
class Seen:
    """Of one app: the most there was since the last `reset`."""

    peak_mib: float = 0.0
    peak_file_mib: float = 0.0

    def reset(self) -> None:
        """Begin anew."""
        self.peak_mib = self.peak_file_mib = 0


@dataclass
class Watch:
    """Looks at processes until it is stopped, and kills one that takes more than its `most_mib`.

    The kernel does so to a container's; in this way nobody needs to be root.
    """

    most_mib: Mapping[str, float]
    pids: Callable[[], Mapping[str, int]]
    seen: dict[str, Seen] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """On a thread of its own."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def of(self, name: str) -> Seen:
        """What was seen of that app."""
        return self.seen.setdefault(name, Seen())

    def _run(self) -> None:
        turn = 0
        while not self._over.wait(_EVERY_S):
            turn += 1
            for name, pid in self.pids().items():
                if name == "gateway" or turn % 10 == 0:
                    with suppress(OSError, ValueError, IndexError):
                        self._look(name, pid, thoroughly=turn % 5 == 0)

    def _look(self, name: str, pid: int, thoroughly: bool) -> None:
        seen, mib = self.of(name), memory_mib(pid)
        seen.peak_mib = max(seen.peak_mib, mib)
        if mib > self.most_mib.get(name, float("inf")):
            for each in reversed(tree(pid)):
                with suppress(ProcessLookupError):
                    os.kill(each, 9)
            time.sleep(0.5)
        elif thoroughly:
            seen.peak_file_mib = max(seen.peak_file_mib, unnamed_mib(pid))


def unnamed_mib(pid: int) -> float:
    """On disk, in open files that have no name any more."""
    size = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if os.readlink(entry).endswith(" (deleted)"):
                size += entry.stat().st_blocks * 512
    return size / 2**20
