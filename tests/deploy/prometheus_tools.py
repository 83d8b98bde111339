"""Prometheus' own programs, as tests run them."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from threading import Event

import httpx
import pytest

HERE = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
_UP_S = 60.0


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


def until_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once a Prometheus or an Alertmanager answers. Raises `RuntimeError` with its log's end."""
    pause, end = Event(), time.monotonic() + _UP_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{url}/-/ready", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        pause.wait(0.05)
    raise RuntimeError(f"It did not start:\n{log.read_text()[-2000:]}")
