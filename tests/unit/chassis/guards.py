"""A guard whose clock a test moves, and work that ends as the test wants."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import pytest

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.resilience.breaker import Breaker, BreakerState, RetryBudget
from chassis.resilience.deadlines import Deadline
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Guard, GuardEvent, Outcome
from chassis.resilience.limits import GradientLimit

Work = Callable[[], Awaitable[str]]
FAILURES_TO_OPEN = 3


class NoPause(RetryBudget):
    """Idempotency at once, so that no test waits."""

    def pause_s(self) -> float:
        return 0.0


@dataclass
class Post:
    """A guard whose clock stands still unless it is moved, and what it told."""

    limit: GradientLimit | None = None
    card: Gate | None = None
    retries: RetryBudget | None = None
    now: float = 0.0
    events: list[GuardEvent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.breaker = Breaker(FAILURES_TO_OPEN, 1.0, self.clock)
        self.gate = Gate("ocr", 2, 4)
        self.guard = Guard(
            "ocr",
            breaker=self.breaker,
            gate=self.gate,
            limit=self.limit,
            card=self.card,
            retries=self.retries,
            clock=self.clock,
            observe=self.events.append,
        )

    def clock(self) -> float:
        return self.now

    @property
    def outcome(self) -> Outcome:
        return self.events[-1].outcome

    def after(self, seconds: float = 60.0) -> Deadline:
        return Deadline(self.now + seconds, self.clock)

    async def call(self, work: Work, deadline: Deadline | None = None, weight_ms: float = 0.0) -> str:
        return await self.guard.call(work, deadline or self.after(), weight_ms=weight_ms)

    async def failing(self, error: Exception, times: int = 1) -> None:
        """Make `times` calls that raise `error`."""
        for _ in range(times):
            with pytest.raises(type(error)):
                await self.call(self.work(0.0, error))

    def work(self, seconds: float = 0.1, error: Exception | None = None) -> Work:
        async def run() -> str:
            self.now += seconds
            if error is not None:
                raise error
            return "done"

        return run

    async def opened(self) -> None:
        await self.failing(DependencyUnavailable(), times=FAILURES_TO_OPEN)
        assert self.breaker.state is BreakerState.OPEN


def state(post: Post) -> BreakerState:
    return post.breaker.state


class Switch:
    """Work that hangs until it is let go."""

    def __init__(self) -> None:
        self.started = 0
        self.go = anyio.Event()

    async def work(self) -> str:
        self.started += 1
        await self.go.wait()
        return "done"


async def settled() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


async def quietly(awaited: Awaitable[object]) -> None:
    """A background call whose end does not matter to the test."""
    try:
        await awaited
    except LoreglassError:
        return
