"""A real redis-server of the tests' own, on loopback, that leaves nothing behind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.ports import free_ports

_ATTEMPTS = 5


@contextmanager
def running_redis(folder: Path) -> Iterator[str]:
    """The URL of a redis-server that runs in `folder`. Skips where there is none, unless this is CI."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have redis-server: these tests may not be skipped there")
        pytest.skip("redis-server is not installed here")
    for _ in range(_ATTEMPTS):
        [port] = free_ports(1)
        options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
        options += ["--save", "", "--appendonly", "no"]
        with subprocess.Popen(
            [program, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            try:
                # The log ends before this line where the server did not start, as on a taken port.
                if any("Ready to accept connections" in line for line in process.stdout):
                    yield f"redis://127.0.0.1:{port}/0"
                    return
            finally:
                process.terminate()
                process.communicate(timeout=10)
    pytest.fail(f"redis-server did not start in {_ATTEMPTS} attempts")
