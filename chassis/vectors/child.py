"""A script of ours on a shard's folder, in a process of its own that ends when this one does.

Edge holds the interpreter's lock while it works, so the child cannot watch for that itself: the system does.
One that went on would keep the shard locked against the service that comes after this one.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_LOOK_S = 0.5
_PR_SET_PDEATHSIG = 1
"""Of prctl(2), Linux: a signal to a process whose parent ends."""


class Stopped(Exception):
    """It was told to stop, or took too long."""


def run_child(
    script: str, folder: Path, stopping: threading.Event, within_s: float = float("inf")
) -> subprocess.CompletedProcess[str]:
    """`python script folder parent`, which calls `end_with_parent`. Blocking. Raises `Stopped`, `OSError`."""
    command = [sys.executable, "-P", script, str(folder), str(os.getpid())]
    until = time.monotonic() + within_s
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        while True:
            try:
                said, failed = child.communicate(timeout=_LOOK_S)
                return subprocess.CompletedProcess(command, child.returncode, said, failed)
            except subprocess.TimeoutExpired:
                if stopping.is_set() or time.monotonic() > until:
                    child.kill()
                    raise Stopped from None


def end_with_parent(parent: int) -> None:
    """Have the system end this process when `parent` has ended, also where it has already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("The process that asked has ended.")
