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
class Watch:
    """Watch the memory of processes, and kill a process that exceeds its `most_mib`.

    It replaces a container's memory limit, so that the attacks run without root. `peak_mib` and
    `peak_file_mib` are the gateway's highest values in MiB since the last `reset`.
    """

    most_mib: Mapping[str, float]
    pids: Callable[[], Mapping[str, int]]
    peak_mib: float = 0.0
    peak_file_mib: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """On a thread of its own."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def reset(self) -> None:
        """Set the peaks to 0."""
        self.peak_mib = self.peak_file_mib = 0.0

    def _run(self) -> None:
        turn = 0
        while not self._over.wait(_EVERY_S):
            turn += 1
            for name, pid in self.pids().items():
                with suppress(OSError, ValueError, IndexError):
                    if name == "gateway":
                        self.peak_mib = max(self.peak_mib, memory_mib(pid))
                    if name == "gateway" and turn % 5 == 0:
                        self.peak_file_mib = max(self.peak_file_mib, unnamed_mib(pid))
                    if name == "gateway" or turn % 10 == 0:
                        self._bound(name, pid)

    def _bound(self, name: str, pid: int) -> None:
        if memory_mib(pid) > self.most_mib.get(name, float("inf")):
            for each in reversed(tree(pid)):
                with suppress(ProcessLookupError):
                    os.kill(each, 9)
            time.sleep(0.5)


def unnamed_mib(pid: int) -> float:
    """On disk, in open files that have no name any more."""
    size = 0
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            if os.readlink(entry).endswith(" (deleted)"):
                size += entry.stat().st_blocks * 512
    return size / 2**20
