"""Requests that are never whole, connections that say nothing, uploads that stop."""

import asyncio
import random
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
from PIL import Image

from tests.attacks.attack import Attack, Course
from tests.attacks.target import Target
from tests.unit.chassis.pictures import encoded

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def opened(course: Course, count: int, data: bytes = b"") -> list[Opened]:
    """Connections on which so much is sent and no more; those that the server refuses are left out."""
    results: list[Opened] = []
    for _ in range(count):
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                reader, writer = await asyncio.open_connection("127.0.0.1", course.target.ports["gateway"])
                if data:
                    writer.write(data)
                    await writer.drain()
                results.append((reader, writer))
    return results


async def still_open(connections: list[Opened]) -> int:
    """How many of them the server has neither answered nor closed."""
    count = 0
    for reader, _ in connections:
        try:
            await asyncio.wait_for(reader.read(1), 0.01)
        except TimeoutError:
            count += 1
        except ConnectionError:
            pass
    return count


def close(connections: list[Opened]) -> None:
    """All of them."""
    for _, writer in connections:
        writer.close()


_MIB = 2**20
_UPLOAD = int(19.65 * _MIB)
"""Less than a photo may have, and thirteen times that is nearly all of the disk."""
_HEAD = b"POST /answer HTTP/1.1\r\nHost: localhost\r\n"
_STOP_S = 75
"""After the longest deadline that a caller may ask for, and the hard stop of an exchange."""


async def _never_whole(course: Course) -> None:
    key = f"Authorization: Bearer {course.target.planted.attacker.text}\r\n".encode()
    body = _HEAD + key + b"Content-Type: application/json\r\nContent-Length: 1000\r\n"
    ways = {
        "half a head": _HEAD[:-4],
        "half a body": body + b"\r\n{",
        "half a body, X-Deadline-Ms: 999999999": body + b"X-Deadline-Ms: 999999999\r\n\r\n{",
        "nothing": b"",
    }
    held = {what: await opened(course, 50, data) for what, data in ways.items()}
    await asyncio.sleep(_STOP_S)
    for what, connections in held.items():
        left = await still_open(connections)
        course.notes.append(f"{what}: {left} of {len(connections)} open after {_STOP_S} s")
        if left and len(connections) == 50:
            course.wrong.append(f"{what} stays open for {_STOP_S} s")
        close(connections)


@contextmanager
def _small_disk(target: Target) -> Iterator[None]:
    """A /tmp of 256 MB, as compose sets; where that may not be mounted, only what is written is counted."""
    target.temporary.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=256m", "tmpfs", str(target.temporary)]
    mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        target.restart_gateway()
        yield
    finally:
        if mounted:
            target.restart_gateway(TMPDIR=str(target.folder))
            subprocess.run(["umount", "-l", str(target.temporary)], check=False)
            target.restart_gateway()


async def _uploads(course: Course) -> None:
    question = {"question": "what is this?", "deadline_ms": "8000"}
    noise = random.Random(1).randbytes(_UPLOAD + 50_000)
    whole = course.post("/answer", data=question, files={"image": ("photo.jpg", noise)})
    held = await opened(course, 13, whole[:_UPLOAD])
    await asyncio.sleep(2)
    good = course.post("/answer", data=question, files={"image": ("photo.jpg", _large_photo(), "image/jpeg")})
    for _ in range(3):
        reply = await course.send(good, give_up_s=30)
        if reply.status != 200:
            course.notes.append(f"a good photo of 2 MB: {reply.status}")
    close(held)
    on_disk = course.target.watch.peak_file_mib
    course.notes.append(f"{len(held)} uploads were taken, {on_disk:.0f} MiB on disk")


def _large_photo() -> bytes:
    pixels = np.random.default_rng(3).integers(0, 256, (1_000, 1_400, 3), dtype=np.uint8)
    return encoded(Image.fromarray(pixels), "JPEG", quality=85)


@contextmanager
def _few_descriptors(target: Target) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    target.restart_gateway(descriptors=1_024)
    try:
        yield
    finally:
        target.restart_gateway()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _idle(course: Course) -> None:
    held = await opened(course, 1_500)
    course.notes.append(f"{len(held)} connections opened")
    await asyncio.sleep(20)
    course.notes.append(f"{await still_open(held[:400])} of the first 400 open after 20 s")
    close(held)


KILLERS = (
    Attack(
        "never-whole",
        "200 connections: half heads, half bodies, X-Deadline-Ms: 999999999, nothing",
        _never_whole,
    ),
    Attack("uploads", "13 unfinished uploads of 19.6 MiB, /tmp of 256 MiB", _uploads, _small_disk),
    Attack("idle", "1,500 idle connections at 1,024 descriptors", _idle, _few_descriptors),
)
