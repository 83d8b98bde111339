"""Whether the model answers: a server may list its model although the model has stopped."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_QUIET_S = 30.0
"""After so long without a reply, and with no call under way, the model is asked for one token."""


class Liveness:
    """The last sign of life of one model. `failing`: its last word was a failure."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.failing = False
        self._clock = clock
        self._in_flight = 0
        self._answered_at = clock()
        self._doubted = False

    @property
    def check_due(self) -> bool:
        """Whether it is time to ask the model for one token."""
        is_quiet = self._clock() - self._answered_at >= _QUIET_S
        return not self._in_flight and (is_quiet or self._doubted or self.failing)

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call that is under way."""
        self._in_flight += 1
        try:
            yield
        finally:
            self._in_flight -= 1

    def answered(self) -> None:
        """The model replied."""
        self.failing = self._doubted = False
        self._answered_at = self._clock()

    def doubt(self) -> None:
        """A call failed, perhaps for its own sake."""
        self._doubted = True

    def failed(self) -> None:
        """The server is away, or a check got no reply."""
        self.failing = True
