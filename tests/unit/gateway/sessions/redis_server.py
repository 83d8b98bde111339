"""A real redis-server of the tests' own, on loopback, that leaves nothing behind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.ports import free_ports

_ATTEMPTS = 5


@dataclass(slots=True)
class RedisServer:
    """A redis-server that a test may stop, or lose with everything that it knew."""

    url: str
    process: subprocess.Popen[str]
    folder: Path

    def begin_anew(self) -> None:
        """Kill it, and start an empty one on the same port."""
        self.process.kill()
        self.process.communicate(timeout=10)
        self.process = _start(
            str(shutil.which("redis-server")), int(self.url[:-2].rpartition(":")[2]), self.folder
        )
        assert _is_ready(self.process)


@contextmanager
def running_redis(folder: Path) -> Iterator[str]:
    """The URL of a redis-server that runs in `folder`. Skips where there is none, unless this is CI."""
    with redis_of_ones_own(folder) as server:
        yield server.url


@contextmanager
def redis_of_ones_own(folder: Path) -> Iterator[RedisServer]:
    """The same, for a test that does harm to it."""
    program = shutil.which("redis-server")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have redis-server: these tests may not be skipped there")
        pytest.skip("redis-server is not installed here")
    for _ in range(_ATTEMPTS):
        [port] = free_ports(1)
        server = RedisServer(f"redis://127.0.0.1:{port}/0", _start(program, port, folder), folder)
        try:
            if _is_ready(server.process):
                yield server
                return
        finally:
            _stop(server.process)
    pytest.fail(f"redis-server did not start in {_ATTEMPTS} attempts")


def _start(program: str, port: int, folder: Path) -> subprocess.Popen[str]:
    options = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    options += ["--save", "", "--appendonly", "no"]
    return subprocess.Popen([program, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _is_ready(process: subprocess.Popen[str]) -> bool:
    """Reads the server's log until it takes connections; false when it ended, as on a taken port."""
    assert process.stdout is not None
    return any("Ready to accept connections" in line for line in process.stdout)


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate(timeout=10)
