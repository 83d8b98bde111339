"""The sample, ingested through the public ways into each kind of deployment."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from deploy.sample import SAMPLE
from evaluation.data.world import World, load_world
from tests.journey.asking import Outcomes, ask_all
from tests.journey.deployments import Deployment
from tests.journey.kinds import KINDS


@pytest.fixture(scope="session")
def world_folder() -> Path:
    """The sample's folder."""
    return SAMPLE


@pytest.fixture(scope="session")
def world(world_folder: Path) -> World:
    """Its questions, with their truth."""
    return load_world(world_folder)


@pytest.fixture(scope="session", params=list(KINDS))
def deployment(
    request: pytest.FixtureRequest, world_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """A running platform that knows the sample's catalogue and pages."""
    made = KINDS[request.param](tmp_path_factory.mktemp(request.param))
    made.start()
    try:
        photos, pages = made.index(world_folder)
        assert photos.rejected == pages.rejected == 0
        assert photos.new > 0
        assert pages.new > 0
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def outcomes(deployment: Deployment, world: World) -> Outcomes:
    """What this deployment answers; asked once, looked at by many tests."""
    return anyio.run(ask_all, deployment.gateway_url, world)
