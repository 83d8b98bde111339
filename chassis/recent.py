"""A cache of the values that were used last."""

import math
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from chassis.resilience.deadlines import Clock

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RecentlyUsed(Generic[Key, Value]):
    """At most `most` values, each for `keep_s` seconds; the least recently used one is removed first."""

    def __init__(self, most: int, keep_s: float = math.inf, clock: Clock = time.monotonic) -> None:
        self._most, self._keep_s, self._clock = most, keep_s, clock
        self._values: dict[Key, tuple[float, Value]] = {}

    def get(self, key: Key) -> Value | None:
        """Return the value under a key, which counts as a use."""
        entry = self._values.pop(key, None)
        if entry is None or self._clock() >= entry[0]:
            return None
        self._values[key] = entry
        return entry[1]

    def put(self, key: Key, value: Value) -> None:
        """Store a value."""
        self.drop(key)
        self._values[key] = (self._clock() + self._keep_s, value)
        if len(self._values) > self._most:
            self.drop(next(iter(self._values)))

    def drop(self, key: Key) -> None:
        """Remove the value under a key."""
        self._values.pop(key, None)
