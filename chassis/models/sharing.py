"""Loading a model once for all threads of a process."""

from collections.abc import Callable
from functools import cache, wraps
from threading import Lock
from typing import TypeVar

Model = TypeVar("Model")


def load_once(load: Callable[[], Model]) -> Callable[[], Model]:
    """Decorate a loader: the first call loads, all others wait for that and share the model.

    `functools.cache` alone loads once for each thread that comes before the first is done, and the services
    of a process start side by side.
    """
    cached, lock = cache(load), Lock()

    @wraps(load)
    def shared() -> Model:
        with lock:
            return cached()

    return shared
