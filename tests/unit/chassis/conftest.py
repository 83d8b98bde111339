"""Fixtures of several files: an app's witness, a host of pictures, another program than Python."""

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
    """Have a line of shell run in the place of Python."""

    def replace(line: str) -> None:
        made = tmp_path / "python"
        made.write_text(f"#!/bin/sh\n{line}\n")
        made.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(made))

    return replace
