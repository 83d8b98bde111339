"""Retries of one question."""

from collections.abc import Callable, Sequence

import pytest

from evaluation.runs.asking import GatewayLost, GatewayRefuses, Patience, Questioner
from loreglass_client import LoreglassError
from loreglass_client.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    InvalidRequest,
    Overloaded,
    PipelineNotFound,
    Unauthorized,
    Unreachable,
)
from loreglass_client.models import Answer, Experiment
from tests.unit.evaluation.records import answered

pytestmark = pytest.mark.anyio

EXPLAIN = Experiment(explain=True)

ANSWER = answered("a")


def lost() -> LoreglassError:
    return Unreachable("The gateway cannot be reached.")


class Sent:
    """Fails as told, in turn, then answers; knows what it was sent."""

    def __init__(self, failures: Sequence[LoreglassError]) -> None:
        self._failures = list(failures)
        self.experiments: list[Experiment | None] = []

    async def __call__(self, experiment: Experiment | None) -> Answer:
        self.experiments.append(experiment)
        if self._failures:
            raise self._failures.pop(0)
        return ANSWER


class Waits:
    """A sleep that takes no time."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def questioner(waits: Waits, **thresholds: float) -> Questioner:
    wanted = Experiment(explain=True, thresholds=thresholds)
    return Questioner(wanted, Patience(overloads=3, losses=3), waits)


async def test_an_overloaded_gateway_is_asked_again_when_it_says() -> None:
    waits = Waits()
    refusals = [Overloaded(retry_after_s=2), Overloaded(), Overloaded(retry_after_s=900)]
    reply = await questioner(waits).put(Sent(refusals))
    assert (reply.answer, reply.error, reply.asked_again) == (ANSWER, None, 3)
    assert waits.seconds == [2, 1, 30]


async def test_a_gateway_that_stays_overloaded_is_an_outcome_in_the_end() -> None:
    reply = await questioner(Waits()).put(Sent([Overloaded()] * 9))
    assert (reply.error, reply.asked_again) == ("overloaded", 3)


async def test_a_gateway_that_stays_away_ends_the_run() -> None:
    with pytest.raises(GatewayLost, match="same command again"):
        await questioner(Waits()).put(Sent([lost()] * 3))


async def test_a_gateway_is_away_only_if_no_question_reaches_it() -> None:
    asks = questioner(Waits())
    for _ in range(5):
        assert (await asks.put(Sent([lost(), lost()]))).answer


async def test_question_that_always_breaks_the_connection_fails_while_others_succeed() -> None:
    asks = questioner(Waits())
    failures = [lost(), lost(), lost()]

    async def others_get_through(_: float) -> None:
        await asks.put(Sent([]))

    asks = Questioner(EXPLAIN, Patience(losses=3), others_get_through)
    reply = await asks.put(Sent(failures))
    assert reply.error == "unreachable"


@pytest.mark.parametrize("failure", [PipelineNotFound("No such."), Unauthorized("A key is needed.")])
async def test_what_every_question_would_meet_ends_the_run(failure: LoreglassError) -> None:
    with pytest.raises(GatewayRefuses, match=failure.detail):
        await questioner(Waits()).put(Sent([failure]))


async def test_thresholds_that_are_not_taken_end_the_run() -> None:
    refusal = InvalidRequest("experiment.thresholds: no_such is none.")
    with pytest.raises(GatewayRefuses, match="no_such"):
        await questioner(Waits(), no_such=0.5).put(Sent([refusal]))


@pytest.mark.parametrize("make", [DeadlineExceeded, InvalidRequest, DependencyUnavailable])
async def test_any_other_failure_is_what_came_of_the_question(make: Callable[[], LoreglassError]) -> None:
    sent = Sent([make()])
    reply = await questioner(Waits()).put(sent)
    assert (reply.answer, reply.error) == (None, make().kind)
    assert len(sent.experiments) == 1
