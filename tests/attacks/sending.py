"""Sends bytes as they are and reads what comes back: no client that would put a request right."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from tests.attacks.inputs import Input

_MOST_BYTES = 16 * 2**20
_QUIET_S = 3.0
"""After the last byte of a connection that the server keeps open."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `status` 0: nothing did. `seconds`: from the last byte sent to the last one read."""

    status: int
    seconds: float
    raw: bytes = b""

    @property
    def body(self) -> bytes:
        """Behind the head."""
        return self.raw.partition(b"\r\n\r\n")[2]

    @property
    def head(self) -> bytes:
        """Status line and headers."""
        return self.raw.partition(b"\r\n\r\n")[0]


async def send(given: Input, port: int, give_up_s: float = 75.0) -> Reply:
    """One connection."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(give_up_s):
            return await _exchange(given, port)
    except (OSError, TimeoutError):
        return Reply(0, time.monotonic() - began)


async def _exchange(given: Input, port: int) -> Reply:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    began = time.monotonic()
    raw = b""
    try:
        with suppress(ConnectionError):  # a server may answer and close before it has read everything
            writer.write(given.data)
            await writer.drain()
            if given.cut and writer.can_write_eof():
                writer.write_eof()
        began = time.monotonic()
        raw, quiet_s = await _read(reader, given)
        return Reply(status_of(raw), time.monotonic() - began - quiet_s, raw)
    except ConnectionError:
        return Reply(status_of(raw), time.monotonic() - began, raw)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, given: Input) -> tuple[bytes, float]:
    """What came until the end of the connection or of the reply, and for how long nothing came at the end."""
    raw = bytearray()
    closes = b"connection: close" in given.data[:4_096].lower()
    while len(raw) < _MOST_BYTES and not _is_whole(raw, given):
        patience = None if closes and not given.silence else _QUIET_S
        try:
            piece = await asyncio.wait_for(reader.read(2**18), patience)
        except TimeoutError:
            return bytes(raw), _QUIET_S
        except ConnectionError:
            break
        if not piece:
            break
        raw += piece
    return bytes(raw), 0.0


def _is_whole(raw: bytearray, given: Input) -> bool:
    head, found, _ = bytes(raw[:65_536]).partition(b"\r\n\r\n")
    if not found or status_of(head) < 200:
        return False
    if given.data.startswith(b"HEAD ") or status_of(head) in (204, 304):
        return True
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(raw) - len(head) - 4 >= int(line.partition(b":")[2])
    return b"transfer-encoding: chunked" in head.lower() and raw.endswith(b"0\r\n\r\n")


def status_of(raw: bytes | bytearray) -> int:
    """Of the reply; 0 where there is none."""
    words = bytes(raw[:64]).split(b" ")
    if not words[0].startswith(b"HTTP/") or len(words) < 2 or not words[1][:3].isdigit():
        return 0
    return int(words[1][:3])
