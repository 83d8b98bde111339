"""Admission, before any model work: a bounded number of questions is worked on, others wait or are refused.

A question that would have too little time left when its turn comes is refused on arrival, with the seconds
after which to retry. A question whose time runs out while it waits is refused while there is still time to
send the refusal. `FairQueue` chooses the next one by priority, tenant and deadline.
"""

import math
import time
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from math import lcm

import anyio

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded
from chassis.resilience.deadlines import Clock, Deadline
from chassis.startup import WrongSettings
from chassis.telemetry.spans import span
from gateway.state import Priority

_SHORTEST_RETRY_S = 1
_LONGEST_RETRY_S = 30
_MEMORY = 16
"""Answers over which the mean time of one is remembered."""


SHARES: Mapping[Priority, int] = {Priority.INTERACTIVE: 8, Priority.STANDARD: 3, Priority.BACKGROUND: 1}
"""Of twelve places that come free while all three wait."""

_ROUND = lcm(*SHARES.values())
_LOWEST_FIRST = tuple(reversed(Priority))

Claim = tuple[Priority, str]
"""Key of a tenant's turns of one priority."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One who waits. `due_at`: its deadline, in seconds on the queue owner's clock; `number`: its arrival."""

    due_at: float
    number: int
    tenant: str = field(compare=False)
    priority: Priority = field(compare=False)

    @property
    def claim(self) -> Claim:
        """Priority and tenant."""
        return self.priority, self.tenant


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
    """The ticket of a waiting question: `decided` is set once `entered_at` or `refusal` is."""

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
        """Return whether the next one has to wait."""
        return self._in_flight >= self.limits.in_flight

    @property
    def in_flight(self) -> int:
        """Return how many are worked on."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return len(self._tickets)

    @property
    def busy(self) -> bool:
        """Return whether work on mere suspicion would be at the cost of others."""
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
        """Return the time of its admission."""
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
        attributes = {"loreglass.priority": priority.value, "loreglass.waiting": self.waiting}
        with span("admission", attributes):
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
        self._count = 0

    def observe(self, held_s: float) -> None:
        """A place was given back."""
        self._count = min(_MEMORY, self._count + 1)
        self.mean_s += (held_s - self.mean_s) / self._count


class FairQueue:
    """Orders the questions that wait, and counts the places that each tenant holds.

    Priorities get places 8:3:1 by start-time fair queuing (Goyal, Vin and Cheng, 1996): each has a virtual
    time that moves on by 1/weight with every place it gets, and the earliest is next, so that none starves
    and none saves up credit while it is idle. Within a priority the tenant that holds the fewest of its
    places is next (max-min fairness); of equals, the one whose last turn is longest ago. Within a tenant
    the earliest deadline is next. The same shares say which question is refused when the queue is full.
    """

    def __init__(self) -> None:
        self._lines: dict[Priority, dict[str, list[Entry]]] = {priority: {} for priority in Priority}
        self._virtual_time = 0
        self._next_start = dict.fromkeys(Priority, 0)
        self._places: Counter[Claim] = Counter()
        self._turn = 0
        self._last_turn: dict[Claim, int] = {}

    def __len__(self) -> int:
        """Return how many wait."""
        return sum(map(self._count, Priority))

    def add(self, entry: Entry) -> None:
        """`entry` waits from now on."""
        lines = self._lines[entry.priority]
        if not lines:
            self._next_start[entry.priority] = max(self._next_start[entry.priority], self._virtual_time)
        insort(lines.setdefault(entry.tenant, []), entry)
        self._last_turn.setdefault(entry.claim, self._turn)

    def remove(self, entry: Entry) -> None:
        """`entry` waits no longer."""
        lines = self._lines[entry.priority]
        line = lines[entry.tenant]
        del line[bisect_left(line, entry)]
        if not line:
            del lines[entry.tenant]
            self._forget_if_gone(entry.claim)

    def first(self) -> Entry | None:
        """Return the waiting question that is let in next."""
        waiting = [priority for priority in Priority if self._lines[priority]]
        if not waiting:
            return None
        lines = self._lines[min(waiting, key=self._next_start.__getitem__)]
        return min((line[0] for line in lines.values()), key=self._precedence)

    def take(self, entry: Entry) -> None:
        """`entry`, which waits, gets a place; that counts for its priority and its tenant."""
        start = self._next_start[entry.priority]
        self._virtual_time = max(self._virtual_time, start)
        self._next_start[entry.priority] = start + _ROUND // SHARES[entry.priority]
        self.hold(entry.claim)
        self.remove(entry)

    def hold(self, claim: Claim) -> None:
        """`claim` gets a place that nobody waits for."""
        self._turn += 1
        self._last_turn[claim] = self._turn
        self._places[claim] += 1

    def release(self, claim: Claim) -> None:
        """`claim` gives a place back."""
        self._places[claim] -= 1
        if not self._places[claim]:
            del self._places[claim]
            self._forget_if_gone(claim)

    def places_until(self, entry: Entry) -> float:
        """Return the number of places that must come free until `entry` has one, if nobody else comes."""
        line = self._lines[entry.priority].get(entry.tenant, [])
        nth = bisect_left(line, entry) + 1
        held = self._places[entry.claim]
        others = sum(
            min(len(line), max(0, nth + held - self._places[entry.priority, tenant]))
            for tenant, line in self._lines[entry.priority].items()
            if tenant != entry.tenant
        )
        own = nth + others
        return own + sum(
            min(self._count(priority), own * SHARES[priority] / SHARES[entry.priority])
            for priority in Priority
            if priority is not entry.priority
        )

    def worst(self, room: int) -> Entry:
        """Return the turn to drop when more than `room` wait.

        Of the lowest priority that takes more of the queue than its share (one may always wait), the latest
        deadline of the tenant that has most waiting.
        """
        lines = self._lines[self._most_expendable(room)]
        longest = max(lines.values(), key=lambda line: (len(line), line[-1]))
        return longest[-1]

    def _most_expendable(self, room: int) -> Priority:
        waiting = [priority for priority in _LOWEST_FIRST if self._lines[priority]]
        seats = _seats(room)
        over = (priority for priority in waiting if self._count(priority) > seats[priority])
        return next(over, waiting[0])

    def _count(self, priority: Priority) -> int:
        return sum(map(len, self._lines[priority].values()))

    def _precedence(self, entry: Entry) -> tuple[int, int, Entry]:
        return self._places[entry.claim], self._last_turn[entry.claim], entry

    def _forget_if_gone(self, claim: Claim) -> None:
        """Remember nothing of those who neither wait nor hold a place."""
        priority, tenant = claim
        if claim not in self._places and tenant not in self._lines[priority]:
            del self._last_turn[claim]


def _seats(room: int) -> dict[Priority, int]:
    """Return how many of each priority may always wait, where there is room for one of each."""
    whole = sum(SHARES.values())
    seats = {priority: max(1, room * share // whole) for priority, share in SHARES.items()}
    highest = max(SHARES, key=SHARES.__getitem__)
    seats[highest] += room - sum(seats.values())
    return seats
