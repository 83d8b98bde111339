"""What several of these tests want and is dear to make."""

import shutil
from pathlib import Path

import pytest

from deploy.sample import SAMPLE


@pytest.fixture(scope="session")
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample, beside whose files tests may write."""
    return Path(shutil.copytree(SAMPLE, tmp_path_factory.mktemp("sample") / "sample"))
