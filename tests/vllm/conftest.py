"""These tests need an environment that `make test-vllm` makes; without it they are left out."""

import os
from pathlib import Path

import pytest

from tests.vllm.environment import V0, VllmEnvironment

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


@pytest.fixture(scope="session")
def v0(environment: VllmEnvironment) -> VllmEnvironment:
    """Where vLLM 0.10.2 is."""
    found = VllmEnvironment(environment.home / V0.vllm, V0)
    if not found.is_ready:
        pytest.skip("no vLLM 0.10.2 here; `make test-vllm` says why")
    return found
