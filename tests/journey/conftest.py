"""A running platform that knows the sample, and its answers to a few questions."""

from collections.abc import Iterator

import anyio
import pytest

from deploy.settings import SAMPLE
from evaluation.data.model import Dataset
from evaluation.data.opening import open_dataset
from tests.containers.deployment import Containers
from tests.containers.project import project_in_environment
from tests.journey.deployments import Deployment, SeparateProcesses
from tests.journey.outcomes import Outcomes, ask_all


@pytest.fixture(scope="session")
def world() -> Dataset:
    """The sample's questions with their truth."""
    return open_dataset(str(SAMPLE))


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Separate processes; or containers, if `python -m tests.containers` runs these tests."""
    project = project_in_environment()
    made = Containers(project) if project else SeparateProcesses(tmp_path_factory.mktemp("platform"))
    made.start()
    try:
        photos, pages = made.index(SAMPLE)
        assert photos.rejected == pages.rejected == 0
        assert photos.new > 0
        assert pages.new > 0
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def outcomes(deployment: Deployment, world: Dataset) -> Outcomes:
    """Answers of the deployment; asked once for all tests."""
    return anyio.run(ask_all, deployment.gateway_url, world)
