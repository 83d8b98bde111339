"""Tests that need torch. Tiny models built from configs; nothing is downloaded."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.parity import PARITY

if TYPE_CHECKING:
    from tests.models.tiny_clip import TinyClip

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

HAS_TORCH = importlib.util.find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["test_*.py"]

Parity = Callable[..., None]


def pytest_configure() -> None:
    if HAS_TORCH:
        import torch

        from training.torchvision_ops import make_importable

        torch.set_num_threads(1)
        make_importable()  # before transformers looks: without it none of its image processors loads
        import transformers.utils

        # Images have no scikit-learn. Where transformers finds it, each process imports pandas too.
        transformers.utils.is_sklearn_available = lambda: False


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> "TinyClip":
    """A tiny CLIP with CLIP's own activation."""
    from tests.models.tiny_clip import tiny_clip

    return tiny_clip(tmp_path_factory.mktemp("clip"))


@pytest.fixture(scope="session", params=[True, False], ids=["quick_gelu", "gelu"])
def either_clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> "TinyClip":
    """A tiny CLIP with each of the two activations."""
    from tests.models.tiny_clip import tiny_clip

    return tiny_clip(tmp_path_factory.mktemp("clip"), request.param)


@pytest.fixture(scope="session")
def blip2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny BLIP-2 model."""
    from tests.models.tiny_blip2 import tiny_blip2

    return tiny_blip2(tmp_path_factory.mktemp("blip2"))


@pytest.fixture
def parity(request: pytest.FixtureRequest) -> Parity:
    """`parity(engine, reference, difference, tolerance=1e-4)`: a row of the table, and an assertion."""

    def record(engine: str, reference: str, difference: float, tolerance: float = 1e-4) -> None:
        row = (engine, reference, float(difference), tolerance)
        request.node.user_properties.append((PARITY, row))  # which the report carries between processes
        assert difference <= tolerance

    return record
