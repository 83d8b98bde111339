"""Admission, before any model work: a bounded number of questions is worked on, others wait or are shed.

`fairness` chooses the next one. A question that would have too little time left when its turn comes is shed
on arrival, with the seconds after which it is worth asking again; one whose time runs out while it waits is
refused while there is still time to say so.
"""

import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

import anyio

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded
from chassis.resilience.deadlines import Clock, Deadline
from chassis.startup import WrongSettings
from chassis.telemetry.spans import span
from gateway.serving.fairness import Claim, Entry, FairQueue
from gateway.state import Priority

_SHORTEST_RETRY_S = 1
_LONGEST_RETRY_S = 30
_MEMORY = 16
"""Answers over which the mean time of one is remembered."""


class Refusal(StrEnum):
    """Why somebody was not let in: the queue is full, its turn would come too late, its time ran out."""

    FULL = "full"
    TOO_LATE = "too_late"
    EXPIRED = "expired"


OnRefusal = Callable[[Priority, Refusal], None]


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """`in_flight` are worked on at once, `waiting` more may wait. Raises `WrongSettings`."""

    in_flight: int
    waiting: int

    def __post_init__(self) -> None:
        if self.in_flight < 1 or self.waiting < 0:
            raise WrongSettings(
                f"Admission needs at least one in flight and no fewer than none waiting, "
                f"not {self.in_flight} and {self.waiting}."
            )


@dataclass(slots=True, eq=False)
class _Ticket:
    """What one who waits holds: `decided` is set once `entered_at` or `refusal` is."""

    entry: Entry
    since: float
    latest_start: float
    decided: anyio.Event
    entered_at: float | None = None
    refusal: LoreglassError | None = None


class Admission:
    """Lets questions in, for one event loop. Times in seconds on `clock`, which deadlines may differ from."""

    def __init__(
        self,
        limits: AdmissionLimits,
        clock: Clock = time.monotonic,
        on_refusal: OnRefusal = lambda _priority, _refusal: None,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._on_refusal = on_refusal
        self._queue = FairQueue()
        self._tickets: dict[Entry, _Ticket] = {}
        self._numbers = count()
        self._pace = _Pace()
        self._in_flight = 0

    @property
    def full(self) -> bool:
        """Whether the next one has to wait."""
        return self._in_flight >= self.limits.in_flight

    @property
    def in_flight(self) -> int:
        """How many are worked on."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._tickets)

    @property
    def busy(self) -> bool:
        """Whether work on mere suspicion would be at the cost of others."""
        return bool(self._tickets) or 2 * self._in_flight >= self.limits.in_flight

    @property
    def oldest_wait_ms(self) -> float:
        """Milliseconds that the one who has waited longest has waited. May be read from any thread."""
        tickets = list(self._tickets.values())  # in one step, while others come and go
        arrivals = (ticket.since for ticket in tickets)
        return max(0.0, self._clock() - min(arrivals, default=self._clock())) * 1000

    @asynccontextmanager
    async def admitted(
        self, tenant: str, priority: Priority, deadline: Deadline, needed_ms: float = 0.0
    ) -> AsyncIterator[None]:
        """Hold a place for as long as the body runs.

        `needed_ms`: what the body must still have when it begins. Under overload many have no more than that:
        with the ninetieth percentile of the body's time nine of ten of them still end in theirs.

        Raises `Overloaded` (with `retry_after_s`) when shed, and `DeadlineExceeded`, `needed_ms` before the
        deadline at the latest, when no place came free in time.
        """
        entered_at = await self._enter(tenant, priority, deadline, needed_ms)
        try:
            yield
        finally:
            self._leave((priority, tenant), entered_at)

    async def _enter(self, tenant: str, priority: Priority, deadline: Deadline, needed_ms: float) -> float:
        """When it got in."""
        now, spare_s = self._clock(), deadline.remaining_s() - needed_ms / 1000
        if spare_s <= 0:
            raise self._refused(priority, Refusal.EXPIRED)
        if not self.full:  # then nobody waits
            self._queue.hold((priority, tenant))
            self._in_flight += 1
            return now
        entry = Entry(now + deadline.remaining_s(), next(self._numbers), tenant, priority)
        if self._expected_wait_s(entry, needed_ms) > spare_s:
            raise self._refused(priority, Refusal.TOO_LATE)
        ticket = _Ticket(entry, now, now + spare_s, anyio.Event())
        self._tickets[entry] = ticket
        self._queue.add(entry)
        if self.waiting > self.limits.waiting:
            self._refuse(self._queue.worst(self.limits.waiting), Refusal.FULL)
        told = {"loreglass.priority": priority.value, "loreglass.waiting": self.waiting}
        with span("admission", "internal", **told):
            return await self._turn_of(ticket, spare_s)

    async def _turn_of(self, ticket: _Ticket, spare_s: float) -> float:
        """Waits until the ticket's place is there. A caller that leaves takes nothing with it."""
        try:
            with anyio.move_on_after(spare_s):
                await ticket.decided.wait()
        except BaseException:
            if ticket.entered_at is not None:
                self._leave(ticket.entry.claim, ticket.entered_at)
            elif ticket.refusal is None:
                self._withdraw(ticket.entry)
            raise
        if ticket.entered_at is None and ticket.refusal is None:
            self._refuse(ticket.entry, Refusal.EXPIRED)
        if ticket.refusal is not None:
            raise ticket.refusal
        assert ticket.entered_at is not None
        return ticket.entered_at

    def _leave(self, claim: Claim, entered_at: float) -> None:
        self._pace.observe(self._clock() - entered_at)
        self._in_flight -= 1
        self._queue.release(claim)
        self._fill()

    def _fill(self) -> None:
        """Hand out the places that are free."""
        while not self.full and (entry := self._queue.first()) is not None:
            ticket, now = self._tickets[entry], self._clock()
            if now > ticket.latest_start:
                self._refuse(entry, Refusal.EXPIRED)
                continue
            self._queue.take(entry)
            del self._tickets[entry]
            self._in_flight += 1
            ticket.entered_at = now
            ticket.decided.set()

    def _refuse(self, entry: Entry, refusal: Refusal) -> None:
        ticket = self._withdraw(entry)
        ticket.refusal = self._refused(entry.priority, refusal)
        ticket.decided.set()

    def _withdraw(self, entry: Entry) -> _Ticket:
        self._queue.remove(entry)
        return self._tickets.pop(entry)

    def _refused(self, priority: Priority, refusal: Refusal) -> LoreglassError:
        self._on_refusal(priority, refusal)
        if refusal is Refusal.EXPIRED:
            return DeadlineExceeded("The time was over before it was this question's turn.")
        return Overloaded(
            "Too many questions are being answered just now.", retry_after_s=self._retry_after_s()
        )

    def _expected_wait_s(self, entry: Entry, needed_ms: float) -> float:
        """Until the turn of `entry` would come. By Little's law places come free at places / time of one.

        Of the first one's time half is over, on average.
        """
        each_s = self._pace.mean_s or needed_ms / 1000
        return (self._queue.places_until(entry) - 0.5) * each_s / self.limits.in_flight

    def _retry_after_s(self) -> int:
        """Until those who wait now will have got in, in whole seconds."""
        drained_s = (self.waiting + 1) * self._pace.mean_s / self.limits.in_flight
        return min(_LONGEST_RETRY_S, max(_SHORTEST_RETRY_S, math.ceil(drained_s)))


class _Pace:
    """The mean time for which a place is held, the latest ones counting most."""

    def __init__(self) -> None:
        self.mean_s = 0.0
        self._seen = 0

    def observe(self, held_s: float) -> None:
        """A place was given back."""
        self._seen = min(_MEMORY, self._seen + 1)
        self.mean_s += (held_s - self.mean_s) / self._seen
