"""Service level objectives, and what locust's table of requests says about them.

In that table a request's name is how it ended: a `Fate`, `CALLED_WRONG` or `BROKEN`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.replies import Fate, Reply, fate_of

MOST_ERRORS = 0.005
MOST_MISSES = 0.01
CALLED_WRONG = "called wrong"
BROKEN = "breaks the contract"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One objective: whether it was held, and the sentence that says how."""

    name: str
    held: bool
    sentence: str


def request_name(reply: Reply, ms: float, deadline_ms: float, trouble: str) -> str:
    """Return how a request ended. `trouble`: how its reply breaks the contract."""
    if trouble:
        return BROKEN
    if 400 <= reply.status < 500:
        return CALLED_WRONG
    return fate_of(reply, ms, deadline_ms)


def verdicts(counts: Mapping[str, int]) -> list[Verdict]:
    """Return all objectives for a run in which so many requests of each name were sent."""
    requests = sum(counts.values())

    def count(*names: str) -> int:
        return sum(counts.get(name, 0) for name in names)

    def at_most(name: str, bad: int, share: float, what: str) -> Verdict:
        held = bad == 0 or bad < share * requests
        allowed = f"fewer than {share:.1%}" if share else "none"
        return Verdict(name, held, f"{bad} of {requests} requests {what}; {allowed} may.")

    answered = count(Fate.FULL, Fate.DEGRADED, Fate.REFUSED)
    return [
        Verdict("questions", answered > 0, f"{answered} of {requests} were answered or refused in time."),
        at_most("contract", count(BROKEN), 0, "break the contract"),
        at_most("accepted", count(CALLED_WRONG), 0, "were right and called wrong"),
        at_most("in time", count(Fate.LATE), 0, "were answered after their deadline"),
        at_most("errors", count(Fate.FAILED), MOST_ERRORS, "ended in a server error"),
        at_most("deadline", count(Fate.TIMED_OUT, Fate.LATE), MOST_MISSES, "missed their deadline"),
        at_most("turned away", count(Fate.TURNED_AWAY), 0, "were turned away"),
    ]
