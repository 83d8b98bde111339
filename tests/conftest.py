"""Fixtures for every test."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Asynchronous tests run on asyncio with uvloop, as the services do."""
    return ("asyncio", {"use_uvloop": True})


@pytest.fixture(scope="session")
def real_photos() -> Path:
    """The folder of real photographs; they are not part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "photos"
    folder = Path(os.environ.get("LOREGLASS_PHOTOS", beside))
    if not folder.is_dir():
        pytest.skip("no folder of real photographs here; name one in LOREGLASS_PHOTOS")
    return folder
