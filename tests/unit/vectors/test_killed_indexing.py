"""An indexing that is stopped at some of its writes loses nothing that was published."""

import os
import subprocess
import sys


def test_nothing_published_is_lost_or_half_wherever_an_indexing_is_stopped() -> None:
    """A process of its own: it forks. The long form: `python -m tests.unit.vectors.killing`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "tests.unit.vectors.killing", "--every", "41", "--kills", "1"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "stopped, whole" in ran.stdout
