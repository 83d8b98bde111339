"""Ask again where the gateway is overloaded or cannot be reached, and stop a run that has no hope.

Any other error is recorded as the result of the question, unless every question would end in it.
"""

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio

from evaluation.data.model import EvaluationError
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

MOST_OVERLOADS = 30
"""How often a question that is turned away is asked again, after what Retry-After says."""
MOST_LOSSES = 5
"""Failures in a row to reach the gateway at all after which it is given up."""
_FIRST_PAUSE_S, _PAUSE_S, _LONGEST_PAUSE_S = 0.25, 1.0, 30.0


class RunStopped(EvaluationError):
    """It is no use to ask on; the message says why and what to do."""


class Reply(NamedTuple):
    """A question's answer, or the kind of the error. `client_ms`: of the last request only."""

    answer: Answer | None
    error: str | None
    client_ms: float
    asked_again: int


class Questioner:
    """Asks for a whole run. `experiment`: what every question is sent with. Where the gateway takes no
    experiments and this one only explains, `explains` becomes false and the questions go without.
    """

    def __init__(self, experiment: Experiment, sleep: Sleep = anyio.sleep) -> None:
        self.explains = experiment.explain
        self._experiment = experiment
        self._varies = bool(experiment.thresholds or experiment.without or experiment.model_calls)
        self._sleep = sleep
        self._losses = 0

    async def put(self, send: Send) -> Reply:
        """Return the reply that counts. Raises `RunStopped`."""
        overloads = losses = 0
        while True:
            experiment = self._experiment if self.explains or self._varies else None
            answer, failure = None, None
            started = time.monotonic()
            try:
                answer = await send(experiment)
            except LoreglassError as error:
                failure = error
            client_ms = round((time.monotonic() - started) * 1000, 2)
            self._losses = self._losses + 1 if isinstance(failure, Unreachable) else 0
            if isinstance(failure, Unreachable) and self._losses >= MOST_LOSSES:
                hint = "The answers so far are kept. Run the same command again to continue."
                raise RunStopped(f"{failure.detail}\n{hint}") from failure
            if isinstance(failure, Unreachable) and losses + 1 < MOST_LOSSES:
                losses += 1  # more than that is this question's fault: the gateway is up for others
                await self._sleep(_FIRST_PAUSE_S * 2.0**losses)
            elif isinstance(failure, Overloaded) and overloads < MOST_OVERLOADS:
                overloads += 1
                await self._sleep(min(failure.retry_after_s or _PAUSE_S, _LONGEST_PAUSE_S))
            elif isinstance(failure, ExperimentsNotAllowed) and experiment and not self._varies:
                self.explains = False
            else:
                if failure:
                    _stop_if_all_would_fail(failure)
                return Reply(answer, failure.kind if failure else None, client_ms, overloads)


def _stop_if_all_would_fail(failure: LoreglassError) -> None:
    if isinstance(failure, ExperimentsNotAllowed):
        raise RunStopped(
            f"{failure.detail} Without that, a question can have no thresholds of its own and leave out "
            "no module."
        ) from failure
    bad_experiment = isinstance(failure, InvalidRequest) and "experiment" in failure.detail
    if bad_experiment or isinstance(failure, NotConfigured | PipelineNotFound | Unauthorized):
        raise RunStopped(failure.detail) from failure
