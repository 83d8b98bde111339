"""Load a model once for all threads of a process."""

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import TypeVar

Model = TypeVar("Model")


def load_once(load: Callable[[], Model]) -> Callable[[], Model]:
    """Decorate a loader: the first call loads the model, other calls wait and return the same one.

    `functools.cache` alone would load again in each thread that calls before the first load ends, and the
    services of a process start side by side.
    """
    cached, lock = cache(load), Lock()

    @wraps(load)
    def shared() -> Model:
        with lock:
            return cached()

    return shared
