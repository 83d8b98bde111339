"""Shared fixtures: a witness of an app's requests, an image host and a replacement for Python."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.chassis.apps import Witness
from tests.unit.chassis.picture_hosts import Host, picture_host


@pytest.fixture
async def witness() -> Witness:
    return Witness()


@pytest.fixture
def host() -> Iterator[Host]:
    with picture_host() as host:
        yield host


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Return a function that replaces `sys.executable` by a shell script of one line."""

    def replace(line: str) -> None:
        script = tmp_path / "python"
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return replace
