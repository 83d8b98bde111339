"""Opens a shard and reads all of it, in a process of its own: broken files may end who maps them.

Run as a script: `python try_shard.py FOLDER PARENT`; prints how many points there are.
"""

import re
import resource
import signal
import sys
import threading
from pathlib import Path

from qdrant_edge import CountRequest, EdgeShard, ScrollRequest

from chassis.vectors.child import Stopped, end_with_parent, run_child

_PAGE = 256
_WITHIN_S = 600.0
_REFUSED, _MISCOUNTED = 3, 4
_OS_ERROR = re.compile(r"(?:os error |Os \{ code: )(\d+)")
"""As Rust shows and as it debugs an error of the system."""
_OF_THE_SYSTEM = frozenset({1, 11, 12, 13, 23, 24, 27, 28, 30, 122})
"""Permission, memory, threads, open files, sizes, space, a read-only disk, a quota: files may be whole."""
_HELD = "WouldBlock"
"""Another process has the shard's write-ahead log open; Edge says it without a number."""


class Unreadable(Exception):
    """The shard's files are broken."""


class Prevented(Exception):
    """The system, its limits or a stop kept the shard from being read: it may be whole."""


def is_of_the_system(text: str) -> bool:
    """Whether an error of Edge, which only has a text, tells of the system and not of the files."""
    return _HELD in text or any(int(code) in _OF_THE_SYSTEM for code in _OS_ERROR.findall(text))


def readable_points(folder: Path, stopping: threading.Event) -> int:
    """How many points the shard in `folder` holds. Blocking. Raises `Unreadable`, `Prevented`, `OSError`."""
    try:
        tried = run_child(__file__, folder, stopping, _WITHIN_S)
    except Stopped:
        raise Prevented("it took too long to read") from None
    if tried.returncode == 0:
        return int(tried.stdout)
    broken = {_REFUSED, _MISCOUNTED, -signal.SIGBUS, -signal.SIGSEGV}
    if tried.returncode not in broken or is_of_the_system(tried.stderr):
        raise Prevented("the system kept it from being read")
    raise Unreadable("its files cannot be read")


def _main(folder: str, parent: str) -> None:
    end_with_parent(int(parent))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        count, read = _count(folder)
    except (MemoryError, OSError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - Edge panics with what is no Exception
        sys.stderr.write(str(error))
        sys.exit(_REFUSED)
    if read != count:
        sys.exit(_MISCOUNTED)
    sys.stdout.write(str(count))


def _count(folder: str) -> tuple[int, int]:
    shard = EdgeShard.load(folder)
    count, read, offset = shard.count(CountRequest(exact=True)), 0, None
    while True:
        page = ScrollRequest(offset=offset, limit=_PAGE, with_payload=True, with_vector=True)
        records, offset = shard.scroll(page)
        read += len(records)
        if offset is None:
            return count, read


if __name__ == "__main__":
    _main(*sys.argv[1:])
