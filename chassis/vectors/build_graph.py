"""Builds a shard's index in a process of its own: Edge holds the interpreter's lock while it does.

Run as a script: `python build_graph.py FOLDER PARENT`. Who starts it has closed the shard.
"""

import os
import sys
import threading
from pathlib import Path

from qdrant_edge import EdgeShard

from chassis.vectors.child import Stopped, end_with_parent, run_child

_NICE = 10
"""Searches go before it."""


class NotBuilt(Exception):
    """The shard is as it was before; the text is Edge's."""


def build_graph(folder: Path, stopping: threading.Event) -> None:
    """Optimise the shard in `folder`. Blocking. Raises `NotBuilt`, also once `stopping` is set; `OSError`."""
    try:
        built = run_child(__file__, folder, stopping)
    except Stopped:
        raise NotBuilt("it was stopped") from None
    if built.returncode:
        raise NotBuilt(built.stderr)


def _main(folder: str, parent: str) -> None:
    end_with_parent(int(parent))
    os.nice(_NICE)
    shard = EdgeShard.load(folder)
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
