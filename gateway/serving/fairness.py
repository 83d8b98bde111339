"""Who of those who wait is next, and who goes when too many do.

Between priorities places are handed out 8:3:1 by start-time fair queuing (Goyal, Vin and Cheng, 1996): each
has a virtual time that moves on by 1/weight with every place it gets, and the one whose time is earliest is
next, so that none starves and none saves up credit while it is idle. Between the tenants of that priority the
next is the one that holds the fewest places of that priority (max-min fairness), and of equals the one whose
last turn is longest ago: alone a tenant may hold every place, beside others no more than its share. Within a
tenant the earliest deadline is next. The same shares say who must go when the queue is full.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import lcm

from gateway.state import Priority

SHARES: Mapping[Priority, int] = {Priority.INTERACTIVE: 8, Priority.STANDARD: 3, Priority.BACKGROUND: 1}
"""Of twelve places that come free while all three wait."""

_ROUND = lcm(*SHARES.values())
_LOWEST_FIRST = tuple(reversed(Priority))

Claim = tuple[Priority, str]
"""Whose turns are counted: a tenant's, apart for each priority."""


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


class FairQueue:
    """Those who wait, in the order of this module's rules; counts the places that each claim holds."""

    def __init__(self) -> None:
        self._lines: dict[Priority, dict[str, list[Entry]]] = {priority: {} for priority in Priority}
        self._virtual_time = 0
        self._next_start = dict.fromkeys(Priority, 0)
        self._held: Counter[Claim] = Counter()
        self._turn = 0
        self._last_turn: dict[Claim, int] = {}

    def __len__(self) -> int:
        """How many wait."""
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
        """The waiting question that is let in next."""
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
        self._held[claim] += 1

    def release(self, claim: Claim) -> None:
        """`claim` gives a place back."""
        self._held[claim] -= 1
        if not self._held[claim]:
            del self._held[claim]
            self._forget_if_gone(claim)

    def places_until(self, entry: Entry) -> float:
        """How many places must come free until `entry`, were it to wait, has one, if nobody else comes."""
        line = self._lines[entry.priority].get(entry.tenant, [])
        nth = bisect_left(line, entry) + 1
        held = self._held[entry.claim]
        others = sum(
            min(len(line), max(0, nth + held - self._held[entry.priority, tenant]))
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
        """Who goes when more than `room` wait.

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
        return self._held[entry.claim], self._last_turn[entry.claim], entry

    def _forget_if_gone(self, claim: Claim) -> None:
        """Remember nothing of those who neither wait nor hold a place."""
        priority, tenant = claim
        if claim not in self._held and tenant not in self._lines[priority]:
            del self._last_turn[claim]


def _seats(room: int) -> dict[Priority, int]:
    """How many of each priority may always wait, where there is room for one of each."""
    whole = sum(SHARES.values())
    seats = {priority: max(1, room * share // whole) for priority, share in SHARES.items()}
    highest = max(SHARES, key=SHARES.__getitem__)
    seats[highest] += room - sum(seats.values())
    return seats
