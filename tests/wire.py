"""Bytes to and from a socket, for requests that no well-behaved client would send."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketStream


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply as it stood on the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[SocketStream]:
    """A bare TCP connection to the server of `url`."""
    parts = urlsplit(url)
    async with await anyio.connect_tcp(parts.hostname or "", parts.port or 0) as stream:
        yield stream


def head(method: str, path: str, **headers: object) -> bytes:
    """A request head; underscores in header names become hyphens."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def read_reply(stream: SocketStream) -> RawReply:
    """The next reply with a Content-Length on this connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive()
    first, *rest = received.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    body = received.split(b"\r\n\r\n", 1)[1]
    while len(body) < int(headers["content-length"]):
        body += await stream.receive()
    return RawReply(int(first.split()[1]), headers, body)


async def send_raw(url: str, request: bytes) -> RawReply:
    """The reply to `request`, sent as it is."""
    async with connection(url) as stream:
        await stream.send(request)
        return await read_reply(stream)
