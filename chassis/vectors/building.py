"""Work on a version that may outlast the patience of whoever asked for it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from chassis.vectors.dense_index import BUILD_WAIT_S


class Building:
    """One thread; a call that asks for what is under way already waits for that."""

    def __init__(self, wait_s: float = BUILD_WAIT_S) -> None:
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[None]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="building")

    def wait_for(self, name: str, work: Callable[[], None]) -> bool:
        """True when `work` is done, whose errors are raised; false where it goes on for longer than that."""
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
        """Whether work on it waits or goes on."""
        with self._lock:
            future = self._under_way.get(name)
            return future is not None and not future.done()

    def close(self) -> None:
        """Waits for what is under way."""
        self._thread.shutdown(cancel_futures=True)
