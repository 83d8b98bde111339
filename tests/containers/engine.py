"""Podman and podman-compose, as commands."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMMAND_S = 300
MOST_LINES = 15


class CheckFailed(Exception):
    """A check failed. The message says why."""


def podman(*words: str) -> str:
    """Run podman and return its output. Raises `CheckFailed` if it fails."""
    done = _run(words)
    if done.returncode != 0:
        raise CheckFailed(f"podman {words[0]} failed: {(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout.strip()


def succeeds(*words: str) -> bool:
    """Return whether the podman command exits with 0."""
    return _run(words).returncode == 0


def inspect(container: str) -> dict[str, Any]:
    """What podman knows of a container."""
    results: dict[str, Any] = json.loads(podman("inspect", container))[0]
    return results


def cleanup_error(container: str) -> str:
    """Podman's messages when it cleans up after a container that ended; it restarts containers in that step.

    "some dependencies ... are not started": the container requires another one that has ended.
    """
    try:
        podman("container", "cleanup", container)
    except CheckFailed as error:
        return str(error)
    return "none was given"


def compose(words: list[str], environment: Mapping[str, str], log: Path) -> str:
    """podman-compose of this environment, its output to a file; returns what this command wrote to it."""
    with log.open("a+b") as file:
        before = file.tell()
        done = subprocess.run(
            [sys.executable, "-m", "podman_compose", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            timeout=COMMAND_S,
            check=False,
        )
        file.seek(before)
        output = file.read().decode(errors="replace")
    if done.returncode != 0:
        lines = [line for line in output.splitlines() if "WARNING" not in line]
        raise CheckFailed("\n  ".join(["podman-compose failed:", *lines[-MOST_LINES:]]))
    return output


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = ["podman", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=False)
