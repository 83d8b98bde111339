"""Runs an app on a real loopback socket for the length of a test."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI

from chassis.http.serving import BoundApp, listen, running

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients of plain sockets: reading all certificates of the machine takes 30 ms each time."""


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """The address of `app`, which is up and will be gone afterwards."""
    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with running([bound]):
        yield bound.url


@asynccontextmanager
async def live(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client of `app`."""
    async with served(app) as url, httpx.AsyncClient(base_url=url, timeout=30, verify=NO_TLS) as client:
        yield client


def closed_port() -> str:
    """An address at which nothing listens."""
    with listen("127.0.0.1", 0) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"
