"""Service level objectives, and what locust's table of requests says about them.

In that table a request's name is how it ended: a `Fate`, `CALLED_WRONG` or `BROKEN`. Once a ramp is over,
`AFTERWARDS` is added to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bench.replies import Fate, Reply, fate_of

MOST_ERRORS = 0.005
MOST_MISSES = 0.01
CALLED_WRONG = "called wrong"
BROKEN = "breaks the contract"
AFTERWARDS = ", after the overload"
_IN_TIME = (Fate.FULL, Fate.DEGRADED, Fate.REFUSED)
_RISE, _PEAK, _FALL, _BACK = 0.15, 0.35, 0.6, 0.65
"""Shares of the run: when users begin to be more, are most, begin to leave, and are as many as before."""


class Shape(StrEnum):
    """A constant number of users, or a rise to several times as many and back."""

    WEARERS = "wearers"
    RAMP = "ramp"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One objective: whether it was held, and the sentence that says how."""

    name: str
    held: bool
    sentence: str


def users_at(shape: Shape, at_s: float, seconds: float, users: int, overload: float) -> int:
    """Return how many there are `at_s` into a run of `seconds`; at a ramp's peak `overload` times `users`."""
    if shape is not Shape.RAMP:
        return users
    return round(users * np.interp(at_s / seconds, (_RISE, _PEAK, _FALL, _BACK), (1, overload, overload, 1)))


def has_recovered(shape: Shape, at_s: float, seconds: float, deadline_s: float) -> bool:
    """Return whether the ramp is over, and the deadline of all that was asked in it."""
    return shape is Shape.RAMP and at_s >= _BACK * seconds + deadline_s


def request_name(reply: Reply, ms: float, deadline_ms: float, trouble: str, recovered: bool) -> str:
    """Return how a request ended. `trouble`: how its reply breaks the contract."""
    name: str = fate_of(reply, ms, deadline_ms)
    if trouble:
        name = BROKEN
    elif 400 <= reply.status < 500:
        name = CALLED_WRONG
    return name + (AFTERWARDS if recovered else "")


def verdicts(counts: Mapping[str, int], shape: Shape) -> list[Verdict]:
    """Return all objectives for a run in which so many requests of each name were sent."""
    requests = sum(counts.values())

    def count(*names: str) -> int:
        return sum(counts.get(name + suffix, 0) for name in names for suffix in ("", AFTERWARDS))

    def at_most(name: str, bad: int, share: float, what: str) -> Verdict:
        held = bad == 0 or bad < share * requests
        allowed = f"fewer than {share:.1%}" if share else "none"
        return Verdict(name, held, f"{bad} of {requests} requests {what}; {allowed} may.")

    answered = count(*_IN_TIME)
    common = [
        Verdict("questions", answered > 0, f"{answered} of {requests} were answered or refused in time."),
        at_most("contract", count(BROKEN), 0, "break the contract"),
        at_most("accepted", count(CALLED_WRONG), 0, "were right and called wrong"),
        at_most("in time", count(Fate.LATE), 0, "were answered after their deadline"),
        at_most("errors", count(Fate.FAILED), MOST_ERRORS, "ended in a server error"),
    ]
    if shape is Shape.RAMP:
        return [*common, _recovery(counts)]
    return [
        *common,
        at_most("deadline", count(Fate.TIMED_OUT, Fate.LATE), MOST_MISSES, "missed their deadline"),
        at_most("turned away", count(Fate.TURNED_AWAY), 0, "were turned away"),
    ]


def _recovery(counts: Mapping[str, int]) -> Verdict:
    after = {name: count for name, count in counts.items() if name.endswith(AFTERWARDS)}
    if not after:
        return Verdict("recovery", False, "Nothing was asked after the overload: the run is too short.")
    good = sum(after.get(fate + AFTERWARDS, 0) for fate in _IN_TIME)
    total = sum(after.values())
    return Verdict("recovery", good == total, f"After the overload {good} of {total} ended in time.")
