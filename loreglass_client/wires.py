"""The steps of a call that wait: once for an event loop, once for a blocking thread.

Everything else is written once, with `await`. A `BlockingWire` never suspends, so `at_once` can run it.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import httpx

T = TypeVar("T")

Source = bytes | str | PathLike[str] | IO[bytes]
"""Bytes, a file's path, or a file that is open for reading bytes."""

Arriving = tuple[httpx.Response, Callable[[float], Awaitable[bytes | None]]]
"""A reply's head, and a function: seconds -> the next piece of its body, None at the end."""

_LIMITS = httpx.Limits(max_connections=100, keepalive_expiry=3.0)  # servers hang up after five idle seconds


class AsyncWire:
    """For an event loop. Raises errors of httpx, or `TimeoutError`."""

    def __init__(self, http: httpx.AsyncClient | None, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._owned = http is None
        self._http = http or httpx.AsyncClient(limits=_LIMITS, timeout=None)
        self.build = self._http.build_request
        self.sleep = sleep

    @asynccontextmanager
    async def exchange(self, request: httpx.Request, seconds: float) -> AsyncIterator[Arriving]:
        """Send the request; close the reply afterwards."""
        with anyio.fail_after(seconds):  # httpx's own limits start anew with each read
            response = await self._http.send(request, stream=True)
        pieces = response.aiter_bytes()

        async def piece(left_s: float) -> bytes | None:
            with anyio.fail_after(left_s):
                await anyio.lowlevel.checkpoint()  # raises if the time is up
                return await anext(pieces, None)

        try:
            yield response, piece
        finally:
            await response.aclose()

    async def read(self, source: Source) -> bytes:
        """Read everything, in a thread."""
        return await anyio.to_thread.run_sync(_read, source)

    async def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owned:
            await self._http.aclose()


class BlockingWire:
    """An `AsyncWire` that never suspends."""

    def __init__(self, http: httpx.Client | None, sleep: Callable[[float], None]) -> None:
        self._owned = http is None
        self._http = http or httpx.Client(limits=_LIMITS, timeout=None)
        self._sleep = sleep
        self.build = self._http.build_request

    @asynccontextmanager
    async def exchange(self, request: httpx.Request, seconds: float) -> AsyncIterator[Arriving]:
        """See `AsyncWire`. httpx ends a silent read; a trickling one ends between its pieces."""
        response = self._http.send(request, stream=True)
        pieces = response.iter_bytes()

        async def piece(left_s: float) -> bytes | None:
            if left_s <= 0:
                raise TimeoutError
            return next(pieces, None)

        try:
            yield response, piece
        finally:
            response.close()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        self._sleep(seconds)

    async def read(self, source: Source) -> bytes:
        """Read everything."""
        return _read(source)

    async def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owned:
            self._http.close()


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine on a `BlockingWire`."""
    try:
        call.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("A blocking call must not suspend.")


def each_at_once(events: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """Yield the items of a generator on a `BlockingWire`."""
    try:
        while True:
            try:
                yield at_once(events.__anext__())
            except StopAsyncIteration:
                return
    finally:
        at_once(events.aclose())


def _read(source: Source) -> bytes:
    if isinstance(source, bytes):
        return source
    return Path(source).read_bytes() if isinstance(source, str | PathLike) else source.read()
