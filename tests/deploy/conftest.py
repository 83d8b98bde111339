"""What several of these tests want and is dear to make."""

from pathlib import Path

import pytest

from evaluation.world.generate import main as generate_world
from evaluation.world.plan import Split

_ENTITIES = 12


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest there is: its folder, to be read."""
    folder = tmp_path_factory.mktemp("small-world")
    generate_world(Split.SAMPLE, folder, None, _ENTITIES)
    return folder
