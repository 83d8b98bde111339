"""What became of the calls of one service."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from chassis.errors import DeadlineExceeded, LoreglassError
from chassis.resilience.deadlines import Deadline


@dataclass(slots=True)
class Counts:
    """Every call received ends as exactly one of `finished`, `cancelled`, `expired` and `refused`.

    `late`: work that was done to its end after the deadline it was sent, whatever the caller was told.
    `most_in_flight`: the most at once. `expired`: answered that the deadline had passed. `refused`: any other
    error. `worked_ms`: time spent working, `wasted_ms` of it on calls whose caller got nothing from it.
    """

    received: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    finished: int = 0
    cancelled: int = 0
    expired: int = 0
    refused: int = 0
    late: int = 0
    worked_ms: float = 0.0
    wasted_ms: float = 0.0

    @contextmanager
    def counted(self, deadline: Deadline | None) -> Iterator[None]:
        """One call, from its arrival to its end, whichever that is."""
        self.received += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        except DeadlineExceeded:
            self.expired += 1
            raise
        except LoreglassError:
            self.refused += 1
            raise
        except BaseException:
            self.cancelled += 1
            raise
        else:
            self.finished += 1
            self.late += deadline is not None and deadline.remaining_ms() <= 0
        finally:
            self.in_flight -= 1

    def turned_away(self) -> None:
        """Note a call that was refused on arrival."""
        self.received += 1
        self.refused += 1

    def spent(self, ms: float, *, wasted: bool) -> None:
        """Note work that was done, for somebody or for nobody."""
        self.worked_ms += ms
        self.wasted_ms += ms if wasted else 0.0
