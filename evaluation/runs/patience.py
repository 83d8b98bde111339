"""Puts one question to the gateway, for as long as that makes sense.

A gateway that is overloaded is asked again when it says so; one that cannot be reached, a few times more.
Whatever else goes wrong is what came of the question, unless it would go wrong with every question.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from loreglass_client import Answer, LoreglassError
from loreglass_client.errors import (
    ExperimentsNotAllowed,
    InvalidRequest,
    NotConfigured,
    Overloaded,
    PipelineNotFound,
    Unauthorized,
    Unreachable,
)
from loreglass_client.models import Experiment

Send = Callable[[Experiment | None], Awaitable[Answer]]
Sleep = Callable[[float], Awaitable[None]]

_FOR_EVERY_QUESTION = (NotConfigured, PipelineNotFound, Unauthorized)
_FIRST_PAUSE_S = 0.25


class RunStopped(Exception):
    """It is no use to ask on; the message says why and what to do."""


class GatewayLost(RunStopped):
    """The gateway cannot be reached."""


class GatewayRefuses(RunStopped):
    """The gateway will answer none of these questions as they are asked."""


@dataclass(frozen=True, slots=True)
class Patience:
    """`overloads`: how often a question that is turned away is asked again, after what Retry-After says
    (`pause_s` where it says nothing, `longest_pause_s` at most). `losses`: failures in a row to reach the
    gateway at all after which it is given up.
    """

    overloads: int = 30
    pause_s: float = 1.0
    longest_pause_s: float = 30.0
    losses: int = 5


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question: an answer, or the kind of the error. `client_ms`: of the last request only."""

    answer: Answer | None
    error: str | None
    client_ms: float
    asked_again: int


class Questioner:
    """Asks for a whole run. `wanted`: what every question is sent with. Where the gateway takes no
    experiments and only explanations were wanted, `explains` becomes false and the questions go without.
    """

    def __init__(
        self, wanted: Experiment, patience: Patience | None = None, sleep: Sleep = anyio.sleep
    ) -> None:
        self.explains = wanted.explain
        self._wanted = wanted
        self._varies = bool(wanted.thresholds or wanted.without or wanted.model_calls)
        self._patience = patience or Patience()
        self._sleep = sleep
        self._losses = 0

    async def put(self, send: Send) -> Reply:
        """The reply that counts. Raises `RunStopped`."""
        tries = _Tries()
        while True:
            experiment = self._experiment()
            started = time.monotonic()
            try:
                answer = await send(experiment)
            except LoreglassError as failure:
                client_ms = round((time.monotonic() - started) * 1000, 2)
                pause_s = self._pause_s(failure, experiment, tries)
                if pause_s is None:
                    return Reply(None, failure.kind, client_ms, tries.overloaded)
                if pause_s:
                    await self._sleep(pause_s)
            else:
                self._losses = 0
                client_ms = round((time.monotonic() - started) * 1000, 2)
                return Reply(answer, None, client_ms, tries.overloaded)

    def _experiment(self) -> Experiment | None:
        if not self.explains and not self._varies:
            return None
        return self._wanted.model_copy(update={"explain": self.explains})

    def _pause_s(
        self, failure: LoreglassError, experiment: Experiment | None, tries: "_Tries"
    ) -> float | None:
        """Seconds until the question is asked again; None: it failed."""
        if isinstance(failure, Unreachable):
            return self._after_loss(failure, tries)
        self._losses = 0
        if isinstance(failure, Overloaded):
            tries.overloaded += 1
            if tries.overloaded > self._patience.overloads:
                tries.overloaded -= 1
                return None
            asked_for = failure.retry_after_s or self._patience.pause_s
            return min(asked_for, self._patience.longest_pause_s)
        if experiment and isinstance(failure, ExperimentsNotAllowed) and not self._varies:
            self.explains = False
            return 0.0
        self._stop_where_all_would_fail(failure)
        return None

    def _after_loss(self, failure: LoreglassError, tries: "_Tries") -> float | None:
        self._losses += 1
        if self._losses >= self._patience.losses:
            raise GatewayLost(
                f"{failure.detail}\nThe answers so far are kept. Run the same command again to continue."
            ) from failure
        tries.lost += 1
        if (
            tries.lost >= self._patience.losses
        ):  # it is up for the other questions, and goes down over this one
            return None
        return _FIRST_PAUSE_S * float(2**tries.lost)

    def _stop_where_all_would_fail(self, failure: LoreglassError) -> None:
        if isinstance(failure, _FOR_EVERY_QUESTION):
            raise GatewayRefuses(failure.detail) from failure
        if not self._varies:
            return
        if isinstance(failure, ExperimentsNotAllowed):
            raise GatewayRefuses(
                f"{failure.detail} Without that, a question can have no thresholds of its own and leave out "
                "no module."
            ) from failure
        named = any(name in failure.detail for name in (*self._wanted.thresholds, "threshold", "experiment"))
        if isinstance(failure, InvalidRequest) and named:
            raise GatewayRefuses(failure.detail) from failure


@dataclass(slots=True)
class _Tries:
    """Of one question."""

    overloaded: int = 0
    lost: int = 0
