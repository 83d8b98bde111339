"""Builds a shard's index in a process of its own: Edge holds the interpreter's lock while it does.

Run as a script: `python build_graph.py FOLDER`. Who starts it has closed the shard.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from qdrant_edge import EdgeShard

_LOOK_S = 0.5
_NICE = 10
"""Searches go before it."""


class NotBuilt(Exception):
    """The shard is as it was before; the text is Edge's."""


def build_graph(folder: Path, stopping: threading.Event) -> None:
    """Optimise the shard in `folder`. Blocking. Raises `NotBuilt`, also once `stopping` is set; `OSError`."""
    command = [sys.executable, "-P", __file__, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while True:
            try:
                _, said = process.communicate(timeout=_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                if stopping.is_set():
                    process.kill()
                    raise NotBuilt("it was stopped") from None
    if process.returncode:
        raise NotBuilt(said)


def _main(folder: str) -> None:
    os.nice(_NICE)
    shard = EdgeShard.load(folder)
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    _main(sys.argv[1])
