"""Guards the calls to one dependency, and learns from how each ends.

In this order: the breaker, the dependency's own gate (as wide as the adaptive limit says), a slot on the
card that it shares with others, then the call itself, repeated once at most. This is the only layer that
repeats calls (Google, "Site Reliability Engineering", ch. 22: retries at several layers multiply).
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import anyio

from chassis.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    Internal,
    LoreglassError,
    NotReady,
    Overloaded,
)
from chassis.resilience.breaker import Breaker, BreakerState, Permit, RetryBudget
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.gates import Gate
from chassis.resilience.limits import GradientLimit

T = TypeVar("T")

_HUNG_TIMES = 3.0
"""A call that had this many times the usual time and did not end is the dependency's failure."""
_HUNG_S = 1.0
"""The same, while the usual time is not known."""
_LEAST_HUNG_S = 0.1
"""Anything may pause this long: a scheduler, a collector, a lost packet."""
_USUAL = 0.02
"""Weight of the newest call in the usual time: it remembers about a hundred."""
_CAUSED_BY_THE_DEADLINE_MS = 1.0


class Outcome(StrEnum):
    """The outcome of a call. The first three never reached the dependency; the last is a bug on this side."""

    OPEN = "open"
    FULL = "full"
    EXPIRED = "expired"
    DONE = "done"
    REFUSED = "refused"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    FAULT = "fault"
    HUNG = "hung"
    CUT_SHORT = "cut_short"
    CANCELLED = "cancelled"
    BUG = "bug"


_NOTHING_LEARNT = {
    Outcome.OPEN,
    Outcome.FULL,
    Outcome.EXPIRED,
    Outcome.CUT_SHORT,
    Outcome.CANCELLED,
    Outcome.BUG,
    # Whoever answers is there, and the fault may be that request's: those who send such requests must not
    # take the dependency from all others. One that faults at everything still tells each caller at once.
    Outcome.FAULT,
}
_FAILURES = {Outcome.UNAVAILABLE, Outcome.HUNG}
_TOO_MUCH = {Outcome.BUSY, Outcome.HUNG}


@dataclass(frozen=True, slots=True)
class GuardEvent:
    """One call as metrics see it. `worked_s`: time at the dependency.

    `limit`: 0 without a limit; `attempts`: 0 when the dependency was not asked.
    """

    dependency: str
    outcome: Outcome
    breaker: BreakerState
    limit: float
    attempts: int
    worked_s: float


GuardObserver = Callable[[GuardEvent], None]


@dataclass(slots=True)
class _Progress:
    """One call while it runs. `since`: when the attempt under way reached the dependency."""

    weight_ms: float
    permit: Permit
    since: float | None = None
    in_flight: float = 0.0
    attempts: int = 0
    worked_s: float = 0.0
    last_s: float = 0.0


class Guard:
    """Guards one dependency.

    Without `limit` the gate's capacity stays as it is. Without `retries` nothing is repeated: a client that
    writes gets none, for only what may be done twice is repeated.
    """

    def __init__(
        self,
        name: str,
        *,
        breaker: Breaker,
        gate: Gate,
        limit: GradientLimit | None = None,
        card: Gate | None = None,
        retries: RetryBudget | None = None,
        clock: Clock = time.monotonic,
        observe: GuardObserver = lambda _: None,
    ) -> None:
        self.name = name
        self.breaker = breaker
        self.gate = gate
        self.limit = limit
        self._card = card
        self._retries = retries
        self._clock = clock
        self._observe = observe
        self._usual_s = 0.0
        self._done = 0
        if limit is not None:
            gate.capacity = limit.value

    async def call(
        self, work: Callable[[], Awaitable[T]], deadline: Deadline, *, weight_ms: float = 0.0
    ) -> T:
        """`await work()`, when the dependency may be asked. `weight_ms`: expected time on the card.

        Raises what `work` raises; `DependencyUnavailable` at once while the breaker is open; `Overloaded` and
        `DeadlineExceeded` when the gates had no room for it.
        """
        permit = self.breaker.admit()
        if permit is None:
            self._tell(Outcome.OPEN)
            raise self._left_alone()
        progress = _Progress(weight_ms, permit)
        outcome = Outcome.BUG
        try:
            result = await self._attempts(work, deadline, progress)
            outcome = Outcome.DONE
            return result
        except LoreglassError as error:
            outcome = self._judge(error, progress)
            raise
        except anyio.get_cancelled_exc_class():
            outcome = self._judge_cancelled(deadline, progress)
            raise
        finally:
            self._learn(outcome, progress)
            self._tell(outcome, progress)

    async def _attempts(
        self,
        work: Callable[[], Awaitable[T]],
        deadline: Deadline,
        progress: _Progress,
    ) -> T:
        if self._retries is not None:
            self._retries.called()
        try:
            return await self._attempt(work, deadline, progress)
        except DependencyUnavailable:
            pause_s = self._pause_before_retry(deadline, progress.permit)
            if pause_s is None:
                raise
            progress.since = None
            await anyio.sleep(pause_s)
            if self.breaker.state is not BreakerState.CLOSED:
                raise  # others have found out meanwhile that it is away
        return await self._attempt(work, deadline, progress)

    async def _attempt(self, work: Callable[[], Awaitable[T]], deadline: Deadline, progress: _Progress) -> T:
        with ExitStack() as slots:
            if not progress.permit.probe:  # calls that hang must not keep the probe out
                await self._enter(slots, deadline, progress)
            since = progress.since = self._clock()
            progress.in_flight = max(1.0, self.gate.in_use)
            progress.attempts += 1
            try:
                return await work()
            finally:
                progress.last_s = self._clock() - since
                progress.worked_s += progress.last_s

    async def _enter(self, slots: ExitStack, deadline: Deadline, progress: _Progress) -> None:
        try:
            slots.callback(await self.gate.enter(deadline))
            if self._card is not None and progress.weight_ms > 0:
                weight_ms = progress.weight_ms
                most_s = self._hung_after_s(weight_ms)  # what hangs must not keep others off the card
                slots.callback(await self._card.enter(deadline, weight_ms, most_s=most_s))
        except Overloaded as error:
            if self.breaker.state is BreakerState.CLOSED:
                raise
            raise self._left_alone() from error
        if self.breaker.state is not BreakerState.CLOSED:  # found to be away while this call waited
            raise self._left_alone()

    def _left_alone(self) -> DependencyUnavailable:
        return DependencyUnavailable(
            f"{self.name} has failed several times in a row and is left alone for a moment.",
            retry_after_s=self.breaker.retry_after_s(),
        )

    def _pause_before_retry(self, deadline: Deadline, permit: Permit) -> float | None:
        """Seconds to wait before the second attempt, or None when there shall be none."""
        if self._retries is None or permit.probe or self.breaker.state is not BreakerState.CLOSED:
            return None
        pause_s = self._retries.pause_s()
        if deadline.remaining_s() <= pause_s + self._usual_s or not self._retries.spend():
            return None
        return pause_s

    def _judge(self, error: LoreglassError, progress: _Progress) -> Outcome:
        if progress.since is None:
            return self._judge_unsent(error, progress)
        if isinstance(error, DeadlineExceeded):
            return self._judge_late(progress)
        if isinstance(error, Overloaded):
            return Outcome.BUSY
        if isinstance(error, DependencyUnavailable | NotReady):
            return Outcome.UNAVAILABLE
        return Outcome.FAULT if isinstance(error, Internal) else Outcome.REFUSED

    def _judge_unsent(self, error: LoreglassError, progress: _Progress) -> Outcome:
        """The gates' own errors say nothing of the dependency; a failure before them does."""
        if progress.attempts:
            return Outcome.UNAVAILABLE
        if isinstance(error, DependencyUnavailable):
            return Outcome.OPEN
        return Outcome.EXPIRED if isinstance(error, DeadlineExceeded) else Outcome.FULL

    def _judge_cancelled(self, deadline: Deadline, progress: _Progress) -> Outcome:
        """A caller's own timer may ring an instant before ours: its cancellation is then the deadline's."""
        if progress.since is None:
            return Outcome.UNAVAILABLE if progress.attempts else Outcome.CANCELLED
        if deadline.remaining_ms() <= _CAUSED_BY_THE_DEADLINE_MS:
            return self._judge_late(progress)
        return Outcome.CANCELLED

    def _judge_late(self, progress: _Progress) -> Outcome:
        hung = progress.last_s >= self._hung_after_s(progress.weight_ms)
        return Outcome.HUNG if hung else Outcome.CUT_SHORT

    def _hung_after_s(self, weight_ms: float) -> float:
        """Seconds after which a call that is still at the dependency is taken to hang."""
        if not self._usual_s:
            return _HUNG_S
        return max(_LEAST_HUNG_S, _HUNG_TIMES * max(self._usual_s, weight_ms / 1000))

    def _learn(self, outcome: Outcome, progress: _Progress) -> None:
        if outcome in _NOTHING_LEARNT:
            self.breaker.abandoned(progress.permit)
        elif outcome in _FAILURES:
            self.breaker.failed(progress.permit)
            if self.breaker.state is BreakerState.OPEN:
                self.gate.turn_away()
        else:
            self.breaker.succeeded(progress.permit)
        if outcome is Outcome.DONE:
            self._done += 1  # the mean at first: the very first call may be long, for a cold start
            self._usual_s += max(_USUAL, 1 / self._done) * (progress.last_s - self._usual_s)
        if self.limit is None:
            return
        if outcome is Outcome.DONE:
            self.limit.observe(progress.last_s, progress.in_flight)
        elif outcome in _TOO_MUCH:
            self.limit.drop()
        self.gate.capacity = self.limit.value

    def _tell(self, outcome: Outcome, progress: _Progress | None = None) -> None:
        self._observe(
            GuardEvent(
                dependency=self.name,
                outcome=outcome,
                breaker=self.breaker.state,
                limit=self.limit.value if self.limit is not None else 0.0,
                attempts=progress.attempts if progress else 0,
                worked_s=progress.worked_s if progress else 0.0,
            )
        )
