"""Where there is room for it in memory, stores are there: on a busy disk their fsyncs take minutes."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")
ENOUGH = 1 << 30


@pytest.fixture(scope="module")
def store_folder() -> Iterator[Path]:
    """A folder for stores, of a module."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH
    with tempfile.TemporaryDirectory(dir=MEMORY if roomy else None) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(store_folder: Path) -> Iterator[Path]:
    """A folder of its own for each test."""
    with tempfile.TemporaryDirectory(dir=store_folder) as folder:
        yield Path(folder)
