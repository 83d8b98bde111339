"""How the index of dense vectors is built, and how its publisher waits for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

# HNSW (Malkov and Yashunin, 2018) over vectors of one byte a number. The nearest by those are taken
# OVERSAMPLING times over and scored again by the whole vectors, which stay on the disk: scores are cosines,
# and a quarter of the memory is enough. A version too small for an index is searched exactly. docs/scale.md
# has the measurements.
LINKS, BUILD_BREADTH, SEARCH_BREADTH = 16, 128, 256
"""HNSW's m, and the candidates kept while a node is linked and while a query is answered (ef)."""
OVERSAMPLING = 2.0
QUANTILE = 0.99
"""Numbers beyond it are cut, so that a few large ones do not coarsen the bytes of all others."""
BUILD_WAIT_S = 300.0
"""A publication waits so long for its index, and then asks to be called again."""
STILL_BUILT = "The index of the version is still being built: publish it again."


class Building:
    """Builds in one thread. A call for a version that is already being built waits for that build."""

    def __init__(self, wait_s: float = BUILD_WAIT_S) -> None:
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[None]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="building")

    def wait_for(self, name: str, work: Callable[[], None]) -> bool:
        """Return true once `work` is done, false if it goes on. Raises the errors of `work`."""
        with self._lock:
            future = self._under_way.get(name)
            if future is None or future.done():
                future = self._under_way[name] = self._thread.submit(work)
        try:
            future.result(self._wait_s)
        except TimeoutError:
            return False
        with self._lock:
            self._under_way.pop(name, None)
        return True

    def is_under_way(self, name: str) -> bool:
        """Return true while work on the version waits or goes on."""
        with self._lock:
            future = self._under_way.get(name)
            return future is not None and not future.done()

    def close(self) -> None:
        """Wait for the work that has begun."""
        self._thread.shutdown(cancel_futures=True)
