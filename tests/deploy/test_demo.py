"""The README's first command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_demo_shows_its_table_and_ends_well(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "loreglass", "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong or failed" in done.stdout
    assert "loreglass serve" in done.stdout
