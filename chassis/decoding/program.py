"""A decoder's process: reads jobs from standard input, writes replies to standard output.

It imports nothing but the standard library, so that a process is quickly there, and takes away from itself
what decoding does not need. Its caller ends it by closing standard input, or by killing it.

A job: two lengths, the arguments (ASCII, by spaces), the data. A reply: a status (0: done), whether the
process ends with it, a length, the result. Nothing in a reply is more than bytes to whoever reads it.
"""

import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

JOB = struct.Struct(">II")
REPLY = struct.Struct(">BBI")
PING = b"ping"
"""The argument of a job that only asks whether anybody is there."""

_MOST_JOBS = 500
_MOST_RESIDENT_BYTES = 256 << 20
"""A process that keeps more, or has done more, makes room for a fresh one: decoders leak and fragment."""

Result = tuple[int, Sequence[bytes]]
"""A status, and the parts of the result."""
Handle = Callable[[Sequence[bytes], bytes], Result]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits that a process sets itself. `cpu_s`: for one job. `limits`: of `resource`, soft and hard."""

    cpu_s: float
    limits: Sequence[tuple[int, int]]


def serve(handle: Handle, bounds: Bounds) -> None:
    """Serve jobs until standard input ends, or a job takes more than `bounds.cpu_s` of a processor."""
    with suppress(OSError, EOFError), _resident() as resident:
        _go_first()
        jobs, replies = os.fdopen(0, "rb", closefd=False), os.fdopen(1, "wb", 0, closefd=False)
        for limit, most in (*bounds.limits, (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
            resource.setrlimit(limit, (most, most))
        for done in range(1, _MOST_JOBS + 1):
            signal.setitimer(signal.ITIMER_PROF, 0)
            arguments, data = _job(jobs)
            # Of all threads together, to the millisecond; nobody catches the signal, which ends the process.
            signal.setitimer(signal.ITIMER_PROF, bounds.cpu_s)
            status, parts = (0, ()) if arguments == [PING] else handle(arguments, data)
            del data
            is_last = done == _MOST_JOBS or _pages(resident) * resource.getpagesize() > _MOST_RESIDENT_BYTES
            _write(replies, REPLY.pack(status, is_last, sum(memoryview(part).nbytes for part in parts)))
            for part in parts:
                _write(replies, part)
            del parts
            if is_last:
                return


def _job(jobs: BinaryIO) -> tuple[list[bytes], bytes]:
    arguments, data = JOB.unpack(_read(jobs, JOB.size))
    return _read(jobs, arguments).split(), _read(jobs, data)


def _read(jobs: BinaryIO, size: int) -> bytes:
    read = jobs.read(size)
    if len(read) < size:
        raise EOFError
    return read


def _write(replies: BinaryIO, part: bytes) -> None:
    left = memoryview(part).cast("B")
    while left:
        left = left[replies.write(left) :]


def _go_first() -> None:
    """Be killed before the parent process if memory is short."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "wb", 0) as score:  # only Linux has it
        score.write(b"1000")


def _resident() -> BinaryIO:
    """Opened before files are taken away. Only Linux has it."""
    return open("/proc/self/statm" if sys.platform == "linux" else os.devnull, "rb", 0)


def _pages(resident: BinaryIO) -> int:
    resident.seek(0)
    return int((resident.read(200).split() or [b"", b"0"])[1])
