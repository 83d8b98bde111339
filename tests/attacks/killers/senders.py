"""Ways to send that no ordinary client has: without end, in part, or not at all."""

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import suppress

from tests.attacks.attack import Course
from tests.attacks.sending import status_of

Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def poured(course: Course, first: bytes, pieces: Iterator[bytes], give_up_s: float = 60.0) -> None:
    """Pieces until the server answers, closes or has them all."""
    sent, began, raw = 0, time.monotonic(), b""
    try:
        async with asyncio.timeout(give_up_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", course.target.ports["gateway"])
            with suppress(ConnectionError):
                writer.write(first)
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    sent += len(piece)
                    if reader.at_eof():
                        break
                writer.write(b"\r\n\r\n")
            with suppress(ConnectionError):
                raw = await asyncio.wait_for(reader.read(65_536), 20)
            writer.close()
    except (OSError, TimeoutError):
        pass
    course.count(status_of(raw), time.monotonic() - began)
    course.notes.append(f"{sent / 2**20:.0f} MiB were taken")


async def opened(course: Course, count: int, data: bytes = b"") -> list[Opened]:
    """Connections on which so much is sent and no more; those that the server refuses are left out."""
    found: list[Opened] = []
    for _ in range(count):
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                reader, writer = await asyncio.open_connection("127.0.0.1", course.target.ports["gateway"])
                if data:
                    writer.write(data)
                    await writer.drain()
                found.append((reader, writer))
    return found


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


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that compress to nothing less."""
    return random.Random(seed).randbytes(size)
