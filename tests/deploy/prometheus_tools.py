"""Prometheus' own programs, as tests run them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"


def installed(name: str, package: str) -> str:
    """The program's path. Skips where it is missing, but fails in CI."""
    program = shutil.which(name)
    if program is None and os.environ.get("CI"):
        pytest.fail(f"CI must have {package}: what it checks may not go untested there")
    if program is None:
        pytest.skip(f"{name} is not installed here (apt-get install {package})")
    return program


def run(*command: str | Path) -> str:
    """The output of a command that must succeed, run in deploy/prometheus."""
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
