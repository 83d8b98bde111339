"""Tests that train. Tiny models built from configs; nothing is downloaded."""

from tests.models.conftest import collect_ignore_glob, parity, pytest_configure

__all__ = ["collect_ignore_glob", "parity", "pytest_configure"]
