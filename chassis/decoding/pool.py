"""Decoders as processes: a few, kept, each doing a job at a time and killed when nobody waits for it.

A thread that decodes cannot be stopped; a process can. What hostile bytes make of it ends with it: it is
told no secret, what libraries print goes nowhere, and its memory and processor time are bounded (`program`).
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum

import anyio
import anyio.to_thread

from chassis.decoding.program import JOB, PING, REPLY
from chassis.errors import DeadlineExceeded, NotReady, Overloaded
from chassis.resilience.deadlines import Deadline

_CPU_SIGNAL = -27  # SIGPROF, as `subprocess` tells it
_MOST_REPLY_BYTES = 256 << 20
_READ_BYTES = 1 << 20
_STUCK_AFTER_S = 2.0
"""Behind the time that a job may take at most: by then it should have been killed."""
_LONGEST_START_S = 60.0
"""For who only asks whether a process is there: one that starts slowly is not made quicker by another."""
_PATHS = tuple(filter(None, sys.path))
"""As they were when this was imported. OpenCV puts its own folder in front while it is being imported, by a
service in the same process, and a decoder that starts then would take its `typing` for Python's."""


class Ending(StrEnum):
    """The reason why a process ended."""

    LEFT = "left"
    LATE = "late"
    CPU = "cpu"
    CLOCK = "clock"
    DIED = "died"
    SPENT = "spent"


OnEnd = Callable[[str, Ending], None]
"""Told of a process that is no more: what it decoded, and why it ended."""


@dataclass(frozen=True, slots=True)
class Program:
    """A module that serves as a decoder (`program.serve`). `most_s`: for one job, by the clock."""

    module: str
    what: str
    most_s: float

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-P", "-s", "-m", self.module]


@dataclass(frozen=True, slots=True)
class Reply:
    """A decoder's reply. `status`: 0 if it succeeded."""

    status: int
    is_last: bool
    content: bytearray | bytes


class NoReply(Exception):
    """The decoder came to no result: it took too long, or came to harm."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.value)
        self.ending = ending


def environment() -> dict[str, str]:
    """Return a decoder's environment: the path of our modules, and nothing else."""
    return {"PYTHONPATH": os.pathsep.join(_PATHS)}


def decode_once(program: Program, arguments: Sequence[str], data: bytes) -> Reply:
    """One job in a process of its own. Blocking. Raises `NoReply`, or `Overloaded` where that fails."""
    try:
        done = subprocess.run(
            program.command,
            input=_job(arguments, data) + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=program.most_s,
            env=environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoReply(Ending.CLOCK) from error
    if done.returncode > 0:
        raise _no_decoder(program)
    if len(done.stdout) < REPLY.size:
        raise NoReply(Ending.CPU if done.returncode == _CPU_SIGNAL else Ending.DIED)
    status, is_last, size = REPLY.unpack_from(done.stdout)
    if len(done.stdout) != REPLY.size + size:
        raise NoReply(Ending.DIED)
    return Reply(status, bool(is_last), done.stdout[REPLY.size :])


def _no_decoder(program: Program) -> Overloaded:
    """Return the error for a process that does not start, or fails whatever its input."""
    return Overloaded(f"No {program.what} can be decoded now.", retry_after_s=1.0)


def _job(arguments: Sequence[str], data: bytes) -> bytes:
    words = " ".join(arguments).encode("ascii")
    return JOB.pack(len(words), len(data)) + words


class _Worker:
    """A process, and our end of what is its standard input and output."""

    def __init__(self, program: Program) -> None:
        """Raises `OSError`."""
        self.began = 0.0
        self.pinged_at: float | None = None
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                self.process = subprocess.Popen(
                    program.command,
                    stdin=theirs.fileno(),
                    stdout=theirs.fileno(),
                    stderr=subprocess.DEVNULL,
                    env=environment(),
                    start_new_session=True,  # Ctrl+C is for who started us, who ends it
                )
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    async def ask(self, arguments: Sequence[str], data: bytes) -> Reply:
        """Raises `EOFError` or `OSError` where the process has ended."""
        loop = asyncio.get_running_loop()
        if self.pinged_at is not None:
            await self.ping()
        await loop.sock_sendall(self._socket, _job(arguments, data))
        await loop.sock_sendall(self._socket, data)
        status, is_last, size = REPLY.unpack(await self._read(REPLY.size))
        if size > _MOST_REPLY_BYTES:
            raise EOFError
        return Reply(status, bool(is_last), await self._read(size))

    async def ping(self) -> Reply:
        """Wait for a reply; a cancelled ping leaves its reply to the next one. Raises as `ask`."""
        if self.pinged_at is None:
            self._socket.send(_job([PING.decode()], b""))
            self.pinged_at = time.monotonic()
        await anyio.wait_readable(self._socket)
        reply = self._socket.recv(REPLY.size)  # written in one piece, and read where nobody is cancelled
        if len(reply) < REPLY.size:
            raise EOFError
        self.pinged_at = None
        status, is_last, _ = REPLY.unpack(reply)
        return Reply(status, bool(is_last), b"")

    async def _read(self, size: int) -> bytearray:
        loop, read = asyncio.get_running_loop(), bytearray()
        while len(read) < size:
            part = await loop.sock_recv(self._socket, min(_READ_BYTES, size - len(read)))
            if not part:
                raise EOFError
            read += part
        return read

    def kill(self) -> None:
        """Kill the process; `Decoders` waits for its end."""
        self.process.kill()
        self._socket.close()


class Decoders:
    """At most `at_once` processes of a program, started when they are needed.

    Whose turn it is, is decided before: who waits for a process here waits for no more than a ping's reply.
    """

    def __init__(
        self,
        program: Program,
        at_once: int,
        on_end: OnEnd = lambda _what, _why: None,
        on_done: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        """`on_end` is told of each process that is no more, `on_done` how long a job took with its slot."""
        self._program = program
        self._slots = anyio.CapacityLimiter(at_once)
        self._on_end = on_end
        self._on_done = on_done
        self._idle: list[_Worker] = []
        self._working: set[_Worker] = set()
        self._killed: list[_Worker] = []

    async def run(self, arguments: Sequence[str], data: bytes, deadline: Deadline) -> Reply:
        """Return a job's reply. A cancelled or late call leaves no process at work and no slot taken.

        Raises `DeadlineExceeded`, `Overloaded` where no process starts or keeps running, or `NoReply`.
        """
        async with self._slot(deadline):
            began = time.perf_counter()
            try:
                return await self._ask(arguments, data, deadline)
            finally:
                self._on_done(time.perf_counter() - began)

    async def _ask(self, arguments: Sequence[str], data: bytes, deadline: Deadline) -> Reply:
        worker, left_s = self._take(), deadline.remaining_s()
        ending: Ending | None = Ending.LEFT
        try:
            with anyio.fail_after(min(self._program.most_s, left_s)):
                reply = await worker.ask(arguments, data)
            ending = Ending.SPENT if reply.is_last else None
            return reply
        except TimeoutError as error:
            ending = Ending.LATE if left_s < self._program.most_s else Ending.CLOCK
            if ending is Ending.LATE:
                raise self._late("decoded") from error
            raise NoReply(ending) from error
        except (EOFError, OSError) as error:
            ending = Ending.DIED
            worker.process.kill()  # it may live and have said what nobody understands
            code = await anyio.to_thread.run_sync(worker.process.wait)
            if code > 0:
                raise _no_decoder(self._program) from error
            if code == _CPU_SIGNAL:
                ending = Ending.CPU
            raise NoReply(ending) from error
        finally:
            self._put_back(worker, ending)

    async def check(self, deadline: Deadline) -> None:
        """Check readiness. Raises `NotReady` if no process answers, or a job is past its time."""
        if self._slots.available_tokens:
            async with self._slot(deadline):
                await self._ping(deadline)
            return
        latest = time.monotonic() - self._program.most_s - _STUCK_AFTER_S
        if any(worker.began < latest for worker in self._working):
            raise NotReady(f"The {self._program.what} decoders do not come to an end.")

    async def _ping(self, deadline: Deadline) -> None:
        worker, ending = self._take(), None
        try:
            with anyio.fail_after(deadline.remaining_s()):
                ending = Ending.SPENT if (await worker.ping()).is_last else None
        except TimeoutError as error:
            if time.monotonic() - (worker.pinged_at or 0.0) > _LONGEST_START_S:
                ending = Ending.CLOCK
            raise NotReady(f"The {self._program.what} decoder has not started yet.") from error
        except (EOFError, OSError) as error:
            ending = Ending.DIED
            raise NotReady(f"The {self._program.what} decoder does not start.") from error
        finally:
            self._put_back(worker, ending)

    def close(self) -> None:
        """End all processes. Blocking, for as long as the system takes to end what was killed."""
        for worker in (*self._idle, *self._working):
            self._end(worker, Ending.SPENT)
        self._idle.clear()
        for worker in self._killed:
            worker.process.wait()
        self._killed.clear()

    def _take(self) -> _Worker:
        self._killed = [worker for worker in self._killed if worker.process.poll() is None]
        while self._idle:
            worker = self._idle.pop()
            if worker.process.poll() is None:
                break
            self._end(worker, Ending.DIED)
        else:
            try:
                worker = _Worker(self._program)
            except OSError as error:
                raise _no_decoder(self._program) from error
        worker.began = time.monotonic()
        self._working.add(worker)
        return worker

    def _put_back(self, worker: _Worker, ending: Ending | None) -> None:
        self._working.discard(worker)
        if ending is None:
            self._idle.append(worker)
        else:
            self._end(worker, ending)

    def _end(self, worker: _Worker, why: Ending) -> None:
        worker.kill()
        self._killed.append(worker)
        self._on_end(self._program.what, why)

    def _late(self, done: str) -> DeadlineExceeded:
        return DeadlineExceeded(f"The time was over before the {self._program.what} was {done}.")

    @asynccontextmanager
    async def _slot(self, deadline: Deadline) -> AsyncIterator[None]:
        try:
            with anyio.fail_after(deadline.remaining_s()):
                await self._slots.acquire()
        except TimeoutError as error:
            raise self._late("read") from error
        try:
            yield
        finally:
            self._slots.release()
