"""What the gateway's tests share."""

from collections.abc import AsyncIterator, Callable

import pytest

from gateway.planning import stages
from gateway.planning.stages import Stage, StageBudget
from gateway.steps import photo
from tests.unit.gateway.fakes import FakeServices
from tests.unit.gateway.platform import World, gateway_before


@pytest.fixture
async def services(anyio_backend: object) -> FakeServices:
    """Services that work and find one book."""
    return FakeServices()


@pytest.fixture
async def world(services: FakeServices) -> AsyncIterator[World]:
    """A gateway in front of services that work."""
    async with gateway_before(services) as made:
        yield made


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lifts every stage's cap: on a loaded machine no stage may fail but the one that a test means."""
    for stage, budget in stages.STAGE_BUDGETS.items():
        monkeypatch.setitem(stages.STAGE_BUDGETS, stage, StageBudget(60_000, budget.reserve))
    monkeypatch.setattr(photo, "CLASSIFY_MS", 60_000)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, unhurried: None) -> Callable[[Stage], None]:
    """Gives a stage 100 ms, so that a test of a hanging one need not wait for its usual cap."""

    def shorten(stage: Stage) -> None:
        monkeypatch.setitem(stages.STAGE_BUDGETS, stage, StageBudget(100, 0))

    return shorten
