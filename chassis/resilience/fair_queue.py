"""The order in which callers get places: ranks by their shares, tenants in turn, then the earliest time."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Generic, TypeVar

Claim = tuple[str, str]
"""Rank and tenant."""

ONE_RANK: Mapping[str, int] = {"": 1}


@dataclass(slots=True, eq=False)
class Entry:
    """One who waits. `due_at`: the latest start in seconds; `number`: of its arrival."""

    due_at: float
    number: int
    claim: Claim

    def __lt__(self, other: "Entry") -> bool:
        return (self.due_at, self.number) < (other.due_at, other.number)


E = TypeVar("E", bound=Entry)


class FairQueue(Generic[E]):
    """Orders those who wait, and counts the places that each tenant holds.

    `shares`: of the places that come free while all ranks wait, highest rank first. They are given out by
    start-time fair queuing (Goyal, Vin and Cheng, 1996): each rank has a virtual time that moves on by
    1/share with every place it gets, and the earliest is next, so that none starves and none saves up credit
    while it is idle. Within a rank the tenant that holds the fewest of its places is next (max-min fairness);
    of equals, the one whose last turn is longest ago. Within a tenant the earliest `due_at` is next. The same
    shares say who is dropped when the queue is full.
    """

    def __init__(self, shares: Mapping[str, int] = ONE_RANK) -> None:
        self._shares = shares
        self._round = lcm(*shares.values())
        self._lines: dict[str, dict[str, list[E]]] = {rank: {} for rank in shares}
        self._virtual_time = 0
        self._next_start = dict.fromkeys(shares, 0)
        self._places: Counter[Claim] = Counter()
        self._turn = 0
        self._last_turn: dict[Claim, int] = {}

    def __len__(self) -> int:
        """Return how many wait."""
        return sum(map(self._count, self._shares))

    def __iter__(self) -> Iterator[E]:
        """Return those who wait, as they are now."""
        return iter([each for lines in self._lines.values() for line in lines.values() for each in line])

    def add(self, entry: E) -> None:
        """Let `entry` wait."""
        rank, tenant = entry.claim
        lines = self._lines[rank]
        if not lines:
            self._next_start[rank] = max(self._next_start[rank], self._virtual_time)
        insort(lines.setdefault(tenant, []), entry)
        self._last_turn.setdefault(entry.claim, self._turn - 1)  # a new one is before the tenant served last

    def remove(self, entry: E) -> None:
        """Remove `entry`, which waits."""
        rank, tenant = entry.claim
        line = self._lines[rank][tenant]
        del line[bisect_left(line, entry)]
        if not line:
            del self._lines[rank][tenant]
            self._forget_if_gone(entry.claim)

    def first(self) -> E | None:
        """Return the one that is next."""
        waiting = [rank for rank in self._shares if self._lines[rank]]
        if not waiting:
            return None
        lines = self._lines[min(waiting, key=self._next_start.__getitem__)]
        return min((line[0] for line in lines.values()), key=self._precedence)

    def take(self, entry: E) -> None:
        """Give a place to `entry`, which waits, and count it for its rank and its tenant."""
        rank, _ = entry.claim
        start = self._next_start[rank]
        self._virtual_time = max(self._virtual_time, start)
        self._next_start[rank] = start + self._round // self._shares[rank]
        self.hold(entry.claim)
        self.remove(entry)

    def hold(self, claim: Claim) -> None:
        """Count a place for `claim`, which did not wait."""
        self._turn += 1
        self._last_turn[claim] = self._turn
        self._places[claim] += 1

    def release(self, claim: Claim) -> None:
        """Free one place of `claim`."""
        self._places[claim] -= 1
        if not self._places[claim]:
            del self._places[claim]
            self._forget_if_gone(claim)

    def places_until(self, newcomer: Entry) -> float:
        """Return how many places must become free before `newcomer` gets one, if no one else arrives."""
        rank, tenant = newcomer.claim
        lines, held = self._lines[rank], self._places[newcomer.claim]
        nth = bisect_left(lines.get(tenant, []), newcomer) + 1
        own = nth + sum(
            min(len(line), max(0, nth + held - self._places[rank, other]))
            for other, line in lines.items()
            if other != tenant
        )
        return own + sum(
            min(self._count(other), own * share / self._shares[rank])
            for other, share in self._shares.items()
            if other != rank
        )

    def worst(self, room: int) -> E:
        """Return the one to drop when more than `room` wait.

        Of the lowest rank that takes more of the queue than its share (one may always wait), the latest of
        the tenant that has most waiting.
        """
        lines = self._lines[self._most_expendable(room)]
        return max(lines.values(), key=lambda line: (len(line), line[-1]))[-1]

    def _most_expendable(self, room: int) -> str:
        waiting = [rank for rank in reversed(list(self._shares)) if self._lines[rank]]
        seats = self._seats(room)
        return next((rank for rank in waiting if self._count(rank) > seats[rank]), waiting[0])

    def _seats(self, room: int) -> dict[str, int]:
        """Return how many of each rank may always wait, where there is room for one of each."""
        whole = sum(self._shares.values())
        seats = {rank: max(1, room * share // whole) for rank, share in self._shares.items()}
        highest = next(iter(self._shares))
        return {**seats, highest: max(1, room - sum(seats.values()) + seats[highest])}

    def _count(self, rank: str) -> int:
        return sum(map(len, self._lines[rank].values()))

    def _precedence(self, entry: E) -> tuple[int, int, E]:
        return self._places[entry.claim], self._last_turn[entry.claim], entry

    def _forget_if_gone(self, claim: Claim) -> None:
        """Remember nothing of those who neither wait nor hold a place."""
        rank, tenant = claim
        if claim not in self._places and tenant not in self._lines[rank]:
            del self._last_turn[claim]
