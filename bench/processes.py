"""The processes that are measured: started against given settings, watched through /proc."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from starlette.types import ASGIApp

from bench.ports import free_ports
from bench.settings import ROOT, environment

_TICKS = os.sysconf("SC_CLK_TCK")
PYTHON = (sys.executable, "-m")
NODE = (*PYTHON, "bench.node", "--port={port}")
_START_S = 300.0
_STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Running:
    """A process that serves on `url`; `ready_s`: seconds from its start until it was ready."""

    process: subprocess.Popen[bytes]
    url: str
    ready_s: float

    @property
    def pid(self) -> int:
        """Return the process's id; it may have children."""
        return self.process.pid


@contextmanager
def serving(
    *command: str,
    port: int = 0,
    settings: Mapping[str, str] | None = None,
    cpus: Sequence[int] = (),
    ready: str = "/health/ready",
) -> Iterator[Running]:
    """Run `command` from when its path `ready` answers until the context ends.

    `{port}` in arguments and settings becomes `port`, or a free one. Raises `RuntimeError` with the end of
    its log if it does not come up.
    """
    number = str(port or free_ports(1)[0])
    url = f"http://127.0.0.1:{number}"
    variables = {name: value.replace("{port}", number) for name, value in (settings or {}).items()}
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [word.replace("{port}", number) for word in command],
            cwd=ROOT,
            env=environment(variables),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        try:
            if cpus:
                os.sched_setaffinity(process.pid, cpus)
            yield Running(process, url, until_ready(url, process, path=ready, log=Path(log.name)))
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def until_ready(
    url: str,
    process: subprocess.Popen[bytes] | None = None,
    path: str = "/health/ready",
    log: Path | None = None,
) -> float:
    """Return the seconds until `path` succeeds. Raises `RuntimeError` with the end of `log`."""
    began = time.monotonic()
    while time.monotonic() - began < _START_S and (process is None or process.poll() is None):
        try:
            if httpx.get(url + path, timeout=10).is_success:
                return time.monotonic() - began
        except httpx.TransportError:
            pass
        time.sleep(0.02)
    end = log.read_text()[-2000:] if log else ""
    raise RuntimeError(f"{url} did not become ready. {end}")


def tree(pid: int) -> list[int]:
    """Return the ids of the process and all its descendants."""
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            for child in (task / "children").read_text().split():
                pids += tree(int(child))
    return pids


def cpu_seconds(pid: int) -> float:
    """Return user and system time of the process, its threads, and its descendants."""
    total = 0.0
    for each in tree(pid):
        after_name = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(ticks) for ticks in after_name[11:15]) / _TICKS
    return total


def memory_mib(pid: int) -> float:
    """Return the resident memory of the process and its descendants; each counts shared pages."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in tree(pid))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def serve(app: ASGIApp, port: int) -> None:
    """Serve on loopback until the process gets SIGINT or SIGTERM."""
    uvicorn.run(
        app,
        port=port,
        loop="uvloop",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )
