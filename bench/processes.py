"""The processes that are measured: started against given settings, watched through /proc."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.settings import ROOT, environment

_TICKS = os.sysconf("SC_CLK_TCK")
_START_S = 120.0
_STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Running:
    """A process. `said`: the line of JSON with which it told that it is up."""

    process: subprocess.Popen[bytes]
    said: Mapping[str, Any]

    @property
    def pid(self) -> int:
        """Of the process itself; it may have children."""
        return self.process.pid

    @property
    def url(self) -> str:
        """Where it is reached."""
        return str(self.said["url"])

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)


@contextmanager
def running(
    module: str,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    cpus: Sequence[int] = (),
    speaks: bool = True,
    by: Sequence[str] = (sys.executable, "-m"),
) -> Iterator[Running]:
    """`python -m module arguments` until the context ends; with `speaks`, once it has printed its line.

    `by`: what runs the module where it is not this interpreter. Raises `RuntimeError` with the end of its
    log if it does not come up.
    """
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*by, module, *arguments],
            cwd=ROOT,
            env=environment(settings or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if speaks else log,
            stderr=log,
        )
        try:
            if cpus:
                os.sched_setaffinity(process.pid, cpus)
            yield Running(process, _first_line(process, module, log) if speaks else {})
        finally:
            _end(process)


def _first_line(process: subprocess.Popen[bytes], module: str, log: Any) -> dict[str, Any]:
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], _START_S)
    line = process.stdout.readline() if readable else b""
    if not line:
        log.seek(0)
        raise RuntimeError(f"{module} did not start:\n{log.read()[-2000:].decode(errors='replace')}")
    said: dict[str, Any] = json.loads(line)
    return said


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def until_ready(
    url: str,
    process: subprocess.Popen[bytes] | None = None,
    most_s: float = _START_S,
    path: str = "/health/ready",
    log: Path | None = None,
) -> float:
    """Return the seconds until `path` succeeds. Raises `RuntimeError` with the end of `log`."""
    began = time.monotonic()
    while time.monotonic() - began < most_s and (process is None or process.poll() is None):
        try:
            if httpx.get(url + path, timeout=10).is_success:
                return time.monotonic() - began
        except httpx.TransportError:
            pass
        time.sleep(0.02)
    end = log.read_text()[-2000:] if log else ""
    raise RuntimeError(f"{url} did not become ready. {end}")


def tree(pid: int) -> list[int]:
    """The process and all its descendants."""
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            for child in (task / "children").read_text().split():
                pids += tree(int(child))
    return pids


def cpu_seconds(pid: int) -> float:
    """User and system time of the process, its threads, and its descendants."""
    total = 0.0
    for each in tree(pid):
        after_name = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(ticks) for ticks in after_name[11:15]) / _TICKS
    return total


def memory_mib(pid: int) -> float:
    """Resident memory of the process and its descendants, shared pages counted once a process."""
    pages = sum(int(Path(f"/proc/{each}/statm").read_text().split()[1]) for each in tree(pid))
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
