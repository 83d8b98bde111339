"""Send bytes over a connection of their own, and read the reply: no client that would repair a request."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx

_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Reply:
    """The bytes of a reply. `status`: 0 if there is none; `seconds`: after the last byte was sent."""

    status: int
    seconds: float
    raw: bytes = b""


def request(method: str, path: str, headers: Mapping[str, str] | None = None, **body: Any) -> bytes:
    """Return a whole request, which closes the connection. `body`: as httpx takes it (json, files, ...)."""
    made = httpx.Request(method, f"http://localhost{path}", headers={"Connection": "close"}, **body)
    made.headers.update(headers or {})
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in made.headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + made.read()


async def send(data: bytes, port: int, give_up_s: float = 75.0, *, cut: bool = False) -> Reply:
    """Send `data` and read until the server closes. `cut`: close the sending half after the last byte."""
    began, raw = time.monotonic(), bytearray()
    with suppress(OSError, TimeoutError):  # a server may answer and close before it has read everything
        async with asyncio.timeout(give_up_s):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
            try:
                with suppress(ConnectionError):
                    writer.write(data)
                    await writer.drain()
                    if cut:
                        writer.write_eof()
                began = time.monotonic()
                while len(raw) < _MOST_BYTES and (piece := await reader.read(2**18)):
                    raw += piece
            finally:
                writer.close()
    return Reply(status_of(raw), time.monotonic() - began, bytes(raw))


def status_of(raw: bytes | bytearray) -> int:
    """Return the status of a reply; 0 if there is none."""
    words = bytes(raw[:64]).split(b" ")
    if not words[0].startswith(b"HTTP/") or len(words) < 2 or not words[1][:3].isdigit():
        return 0
    return int(words[1][:3])
