"""A service as a station: workers, a bounded queue in order of arrival, and nothing spent on who has left."""

import asyncio
from collections import deque

import anyio

from capacity.standins.counts import Counts
from chassis.errors import DeadlineExceeded, Overloaded
from chassis.resilience.deadlines import Clock, Deadline

_TOO_LATE = "The work did not finish in time."


class _Ticket:
    """A place in the queue."""

    def __init__(self) -> None:
        self.called = anyio.Event()


class Station:
    """`workers` calls at once, `queue` more may wait; the next is refused."""

    def __init__(self, workers: int, queue: int, counts: Counts, clock: Clock) -> None:
        self.working = 0
        self.most_waiting = 0
        self._workers = workers
        self._queue = queue
        self._waiting: deque[_Ticket] = deque()
        self._counts = counts
        self._clock = clock

    @property
    def waiting(self) -> int:
        """Calls in the queue now."""
        return len(self._waiting)

    async def work(self, ms: float, deadline: Deadline | None) -> None:
        """Wait for a worker, then for `ms`. Cancelling frees the place or the worker at once.

        Raises `Overloaded` when the queue is full, `DeadlineExceeded` when the deadline passes first: the
        caller is told so then, but the worker only comes free with the work's end, as a thread does.
        """
        if deadline is not None:
            deadline.require()
        await self._enter(deadline)
        began = self._clock()
        in_time_s = ms / 1000 if deadline is None else min(ms / 1000, deadline.remaining_s())
        try:
            await anyio.sleep(in_time_s)
        except BaseException:
            self._counts.spent((self._clock() - began) * 1000, wasted=True)
            self._leave()
            raise
        if in_time_s < ms / 1000:
            self._counts.spent(ms, wasted=True)
            asyncio.get_running_loop().call_later(ms / 1000 - in_time_s, self._finish_late)
            raise DeadlineExceeded(_TOO_LATE)
        self._counts.spent(ms, wasted=False)
        self._leave()

    async def _enter(self, deadline: Deadline | None) -> None:
        if self.working < self._workers:
            self.working += 1
            return
        if len(self._waiting) >= self._queue:
            raise Overloaded("The queue of this service is full.", retry_after_s=1)
        ticket = _Ticket()
        self._waiting.append(ticket)
        self.most_waiting = max(self.most_waiting, len(self._waiting))
        try:
            with anyio.move_on_after(None if deadline is None else deadline.remaining_s()):
                await ticket.called.wait()
        except BaseException:
            self._give_up(ticket)
            raise
        if not ticket.called.is_set():
            self._give_up(ticket)
            raise DeadlineExceeded(_TOO_LATE)

    def _give_up(self, ticket: _Ticket) -> None:
        """Leave the queue, or hand on the worker that was given in the meantime."""
        if ticket.called.is_set():
            self._leave()
        else:
            self._waiting.remove(ticket)

    def _leave(self) -> None:
        """The worker is free: for the first in the queue, or for whoever comes."""
        if self._waiting:
            self._waiting.popleft().called.set()
        else:
            self.working -= 1

    def _finish_late(self) -> None:
        self._counts.late += 1
        self._leave()
