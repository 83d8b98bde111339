"""These tests need an environment that `make test-vllm` makes; without it they are left out."""

import os
from pathlib import Path

import pytest

from tests.vllm.environment import VllmEnvironment

HOME = os.environ.get("LOREGLASS_VLLM_HOME", "")

if HOME:
    from training.torchvision_ops import make_importable

    make_importable()
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def environment() -> VllmEnvironment:
    """Where vLLM is."""
    return VllmEnvironment(Path(HOME))
