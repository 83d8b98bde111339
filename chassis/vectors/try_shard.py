"""Opens a shard and reads all of it, in a process of its own: broken files may end who maps them.

Run as a script: `python try_shard.py FOLDER`; prints how many points there are.
"""

import resource
import subprocess
import sys
from pathlib import Path

from qdrant_edge import CountRequest, EdgeShard, ScrollRequest

_PAGE = 256
_WITHIN_S = 600.0


def readable_points(folder: Path) -> int | None:
    """How many points the shard in `folder` holds; None where it cannot be opened or read. Blocking.

    Raises `MemoryError` where the system stopped the attempt, or it took too long: the shard may be whole.
    """
    command = [sys.executable, "-P", __file__, str(folder)]
    try:
        tried = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise MemoryError from None
    if tried.returncode == -9:
        raise MemoryError
    return int(tried.stdout) if tried.returncode == 0 else None


def _main(folder: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    shard = EdgeShard.load(folder)
    count, read, offset = shard.count(CountRequest(exact=True)), 0, None
    while True:
        page = ScrollRequest(offset=offset, limit=_PAGE, with_payload=True, with_vector=True)
        records, offset = shard.scroll(page)
        read += len(records)
        if offset is None:
            break
    if read != count:
        sys.exit(1)
    sys.stdout.write(str(count))


if __name__ == "__main__":
    _main(sys.argv[1])
