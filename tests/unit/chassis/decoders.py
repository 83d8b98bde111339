"""What runs in the place of a decoder process."""

import sys
from pathlib import Path

import pytest


def program_in_place_of_python(monkeypatch: pytest.MonkeyPatch, folder: Path, line: str) -> None:
    """Have a line of shell run instead."""
    made = folder / "python"
    made.write_text(f"#!/bin/sh\n{line}\n")
    made.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(made))
