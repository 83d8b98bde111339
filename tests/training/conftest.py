"""Tests that train. Tiny models built from configs; nothing is downloaded."""

from pathlib import Path

import pytest

from tests.models.conftest import collect_ignore_glob, parity, pytest_configure

__all__ = ["collect_ignore_glob", "parity", "pytest_configure"]


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny Qwen2.5-VL model."""
    from tests.training.asking import tiny_model

    return tiny_model(tmp_path_factory.mktemp("weights") / "tiny-vl")
