"""Builds a shard's index in a process of its own: Edge holds the interpreter's lock while it does.

Run as a script: `python build_graph.py FOLDER PARENT`. The caller has closed the shard. The process ends when
its parent ends, else the shard would stay locked for the next service.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from qdrant_edge import EdgeShard

_NICE = 10
"""Searches go before it."""
_LOOK_S = 0.5
_PR_SET_PDEATHSIG = 1
"""Option of prctl(2) on Linux: signal this process when its parent ends."""


class NotBuilt(Exception):
    """The shard is as it was before; the text is Edge's."""


def build_graph(folder: Path, stopping: threading.Event, script: str = __file__) -> None:
    """Optimise the shard in `folder`. Blocking. Raises `NotBuilt`, also once `stopping` is set; `OSError`."""
    command = [sys.executable, "-P", script, str(folder), str(os.getpid())]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        while True:
            try:
                _, failure = child.communicate(timeout=_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if stopping.is_set():
                    child.kill()
                    raise NotBuilt("it was stopped") from None
    if child.returncode:
        raise NotBuilt(failure)


def end_with_parent(parent: int) -> None:
    """Have the system end this process when `parent` has ended, also where it has already.

    Edge holds the interpreter's lock while it works, so the child cannot watch for that itself.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("The process that asked has ended.")


def _main(folder: str, parent: str) -> None:
    end_with_parent(int(parent))
    os.nice(_NICE)
    shard = EdgeShard.load(folder)
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
